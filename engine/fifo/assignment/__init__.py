"""Which partitions of a topic each member of a consumer group gets. Pure functions.

Every member works it out by itself from what it believes the members are; RocketMQ does so too, and the lock of a
partition decides between two that believe different things.
"""

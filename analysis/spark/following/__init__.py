"""Follows runs that are going on: what is counted so far, from every segment as it is closed.

Read first: ``follower``.
"""

"""Workers of libraries that are written for asyncio, whole, as programs of a simulated cluster: saq, arq, taskiq-redis.

    PYTHONPATH=tests python -m support.library_workers saq arq taskiq-list taskiq-stream

runs the same story with each of those that are installed: a producer enqueues jobs, a worker in every zone and a second
one in the first zone carry them out, and the second one is killed meanwhile: docs/library-workers.md.
"""

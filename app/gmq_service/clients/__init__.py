"""Clients of the service for programs in Python: ``GmqClient`` on asyncio, ``BlockingGmqClient`` for all others.

with BlockingGmqClient("127.0.0.1:9503") as gmq:
    gmq.push("1", topic="mail", body="Dear …", delay_s=2, ttr_s=30)
    job = gmq.pop("mail")
    if job is not None:
        gmq.ack(job.id)
"""

from zonelab.app.gmq_service.clients.asynchronous import GmqClient
from zonelab.app.gmq_service.clients.blocking import BlockingGmqClient
from zonelab.app.gmq_service.clients.messages import GmqError, JobGone, PoppedJob, WrongReply

__all__ = ["BlockingGmqClient", "GmqClient", "GmqError", "JobGone", "PoppedJob", "WrongReply"]

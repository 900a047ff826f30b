"""Goal: a queue's ``ack`` and ``set_unack_timeout`` get what they take, the delivery or the id of its message.

Method: queues that say by a name or an annotation what they take.
"""

import asyncio
import warnings

import pytest

from zonelab.engine.message import Delivery, Message
from zonelab.scenarios.queues.acknowledging import acknowledge, extend_lease

DELIVERY = Delivery(message=Message(id="m"), shard="a", lease_start_ms=0, leased_ms=0, lease_end_ms=1)


class ByMessageId:
    async def ack(self, message_id):
        return message_id == "m"


class ByText:
    async def ack(self, job: str, /) -> bool:
        return job == "m"


class ByDelivery:
    async def ack(self, delivery, /):
        return delivery is DELIVERY


class Annotated:
    async def ack(self, message_id: Delivery) -> bool:
        return message_id is DELIVERY


@pytest.mark.parametrize("queue_class", [ByMessageId, ByText])
def test_an_ack_that_takes_an_id_is_given_it_and_its_author_is_told_once(queue_class):
    with pytest.warns(
        FutureWarning, match=rf"{queue_class.__name__}.ack takes an id; a queue's ack takes the delivery"
    ):
        assert asyncio.run(acknowledge(queue_class(), DELIVERY))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asyncio.run(acknowledge(queue_class(), DELIVERY))


@pytest.mark.parametrize("queue_class", [ByDelivery, Annotated])
def test_an_ack_that_takes_a_delivery_is_given_it(queue_class):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asyncio.run(acknowledge(queue_class(), DELIVERY))


class ExtendsById:
    async def set_unack_timeout(self, message_id, /, *, timeout_ms):
        return (message_id, timeout_ms) == ("m", 5)


class ExtendsDeliveries:
    async def set_unack_timeout(self, delivery, /, *, timeout_ms):
        return (delivery, timeout_ms) == (DELIVERY, 5)


class ExtendsAnnotated:
    async def set_unack_timeout(self, one: Delivery, /, *, timeout_ms: int) -> bool:
        return (one, timeout_ms) == (DELIVERY, 5)


@pytest.mark.parametrize("queue_class", [ExtendsById, ExtendsDeliveries, ExtendsAnnotated])
def test_an_extension_is_given_what_it_takes(queue_class):
    assert asyncio.run(extend_lease(queue_class(), DELIVERY, timeout_ms=5))

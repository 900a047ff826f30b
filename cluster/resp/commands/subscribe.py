"""Pub/sub, which Dynomite refuses: a subscriber gets a connection of its own to the server of its zone.

``PUBLISH`` goes to every zone, so a message reaches the subscribers of all zones that are up and connected, and its
answer counts the receivers in the own zone. What a zone missed it never gets, as with a single server.
"""

from zonelab.cluster.resp.client import PortClient
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.subscription import Subscription

UNREACHABLE = "ERR Storage: Datastore refused connection"


async def subscribe(client: PortClient, name: str, raw: bytes, channels: list[bytes]) -> bytes:
    """Carry out a command of the subscribe family; its confirmations come from the server."""
    subscription = client.subscription
    if subscription is None:
        subscription = _subscription_of(client)
        try:
            await subscription.open(client.host.own_address)
        except OSError:
            return wire.error(UNREACHABLE)
        client.subscription = subscription
    confirmations = subscription.confirmations(name, channels)
    await subscription.ask(raw, confirmations=confirmations, protocol=client.protocol)
    return b""


def _subscription_of(client: PortClient) -> Subscription:
    def lost() -> None:
        """Without its server a subscriber would wait for ever, so it gets an error in the form that it expects."""
        if client.subscription is subscription and not client.closing:
            client.close()

    subscription = Subscription(hand_on=client.write, on_lost=lost)
    return subscription


def nothing_left(client: PortClient, name: str, channels: list[bytes]) -> bytes:
    """The answer to a client without a subscription that leaves ``channels``, or all: a confirmation for each."""
    head = b"*3\r\n" if client.protocol == 2 else b">3\r\n"
    said = map(wire.bulk, channels) if channels else [wire.NIL[client.protocol]]
    return b"".join(head + wire.bulk(name.lower().encode()) + one + wire.integer(0) for one in said)


def pong(arguments: list[bytes]) -> bytes:
    """The answer to ``PING`` of a subscriber in RESP2."""
    return wire.array((wire.bulk(b"pong"), wire.bulk(arguments[1] if len(arguments) > 1 else b"")))

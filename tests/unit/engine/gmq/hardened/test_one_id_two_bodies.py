"""Goal: of two pushes of one id with unlike bodies at once one is refused, and no zone serves its body.

Method: simulated zones whose lags differ so much that the zones disagree about which push came first; consumers that
never acknowledge, so that every zone delivers what it has; and the same with each mechanism planted away.
"""

from contextlib import AsyncExitStack, suppress

import pytest
from support.engine.hardened import ZONES, GmqLab, hardened_lab

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.engine.dyno.hardened.records import scripts
from zonelab.engine.dyno.hardened.records.record import MessageRecord
from zonelab.engine.dyno.hardened.upkeep.payload_repair import Copy, PayloadRepair, changed
from zonelab.engine.gmq.hardened import HardenedGmqQueue
from zonelab.engine.message import Message
from zonelab.engine.ports import PortError, ServerError

SEEDS = range(1, 13)


class AtOnce:
    """The id ``m`` pushed in zones a and c, its body the zone's name; popped again and again in ``consumers``."""

    def __init__(self, seed, consumers):
        settings = SimSettings(seed=seed, timeouts=Timeouts(factor=0.1), lag=parse_lag("lognormal:5ms:40ms"))
        self.lab = GmqLab(SimCluster(ZONES, settings))
        self.confirmed, self.refused, self.delivered = [], [], []
        self.lab.run(self._program(consumers))

    async def _program(self, consumers):
        for zone in "ac":
            self.lab.runtime.spawn(self._push(zone), name=zone)
        async with AsyncExitStack() as running:
            await running.enter_async_context(self.lab.dispatcher("b"))
            queues = [await running.enter_async_context(self.lab.instance(zone)) for zone in consumers]
            for _ in range(100):  # longer than three leases
                for queue in queues:
                    with suppress(ServerError, PortError):
                        self.delivered += [one.message.payload for one in await queue.pop(5)]
                await self.lab.sleep(10)

    async def _push(self, zone):
        try:
            await self.lab.instance(zone).push([Message(id="m", payload=zone)])
            self.confirmed.append(zone)
        except ServerError:
            self.refused.append(zone)


@pytest.mark.parametrize("consumers", ["a", "b", "c", "abc"])
def test_of_pushes_at_once_every_zone_serves_the_body_of_the_confirmed_one(consumers):
    for seed in SEEDS:
        seen = AtOnce(seed, consumers)
        assert (len(seen.confirmed), len(seen.refused)) == (1, 1), seed
        assert len(seen.delivered) > 1, seed
        assert set(seen.delivered) == set(seen.confirmed), seed


def test_a_lease_that_compares_nothing_is_found(monkeypatch):
    blind = scripts._ON_MESSAGES["lease_same"].replace("~= digests[id]", "== ''")
    monkeypatch.setitem(scripts._ON_MESSAGES, "lease_same", blind)
    assert any(set(seen.delivered) - set(seen.confirmed) for seen in (AtOnce(seed, "abc") for seed in SEEDS))


def test_zones_that_are_not_mended_are_found(monkeypatch):
    async def nothing(repair, ids):
        pass

    monkeypatch.setattr(PayloadRepair, "repair", nothing)
    assert any(not seen.delivered for seen in (AtOnce(seed, "c") for seed in SEEDS))


@pytest.mark.parametrize(
    ("bodies", "mended"),
    [
        ("AAA", {}),
        ("AAB", {2: "A"}),
        ("BAA", {0: "A"}),
        ("BA", {}),  # the zone that did not answer decides
        ("AA", {}),
        ("CAB", {1: "C", 2: "C"}),  # none was confirmed: any, but the same whoever looks
        ("BCA", {0: "C", 2: "C"}),
    ],
)
def test_the_payload_of_a_majority_goes_to_the_others_with_its_record(bodies, mended):
    copies = [Copy(MessageRecord.parse(b"w a %d 1 0 0 -" % at), body.encode()) for at, body in enumerate(bodies)]
    changes = changed("m", copies, zones=3)
    assert {int(one.seen.raw.split()[2]): one.payload.decode() for one in changes} == mended
    assert all(Copy(MessageRecord.parse(one.new), one.payload) in copies for one in changes)


def test_a_queue_that_compares_no_payloads_is_refused():
    async def program():
        with pytest.raises(ValueError, match="payloads_compared, got mail without"):
            HardenedGmqQueue({"mail": lab.queue(name="mail")}, runtime=lab.runtime)

    with hardened_lab() as lab:
        lab.run(program())

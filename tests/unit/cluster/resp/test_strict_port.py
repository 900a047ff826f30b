"""Goal: of what several clients of a port ask in one turn, strict mode refuses each its own and sends on the rest, in
order and in the words that clients wrote.

Method: a coordinator with the door of strict mode over channels that note the bytes and answer at once.
"""

from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.options.strict.door import REFUSED, StrictDoor
from zonelab.cluster.options.strict.votes import StrictRules
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.protocol.wire_codec import WireCodec
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level


class NotingChannel:
    connected = True

    def __init__(self):
        self.packed = []

    def submit(self, batch, done):
        self.packed.append(batch.packed)
        done([wire.OK] * len(batch.commands))

    def reset(self):
        pass


def packed(*lines):
    return [wire.command(*line.encode().split()) for line in lines]


def test_clients_that_travel_together_are_each_told_of_their_own_commands():
    channels = {zone: NotingChannel() for zone in "abc"}
    coordinator = PlainCoordinator(zone="a", channels=channels, runtime=SimRuntime(seed=1), rules=StrictRules)
    coordinator.door = StrictDoor(zones=3, data_centres=1, codec=WireCodec(), count=coordinator.statistics.count)
    first = packed("SET a 1", "HSET h f 1 g 2")
    second = packed("MSET x 1 y 2", "SET b 1", "SET c 1", "LPOP l 2")
    told = []
    members = [(WireCommands([("SET",)] * len(raws)), told.append) for raws in (first, second)]
    together = WireCommands([("SET",)] * len(first + second))
    coordinator.submit_together(Level.DC_QUORUM, members, together, b"".join(first + second))
    answers = [[str(answer)[:17] for answer in outcome.answers] for outcome in told]
    assert answers == [[str(wire.OK), "ERR strict: HSET:"], [str(wire.OK)] * 3 + ["ERR strict: LPOP:"]]
    expected = [first[0], second[0], second[1] + second[2]]
    assert [channel.packed for channel in channels.values()] == [expected] * 3
    assert coordinator.statistics.options == {REFUSED: 2}

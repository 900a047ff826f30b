"""Goal: promises of coordinators that hold at single moments: an order, a doubt, a removal, a version.

Method: channels that note what they are given and answer when the test says so.
"""

from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.coordinators.split_commands import Fragment, SplitCommand, SplitPipeline
from zonelab.cluster.options.read_repair.coordinator import RepairingCoordinator
from zonelab.cluster.options.versions.clock import VersionClock
from zonelab.cluster.options.versions.coordinator import VersionedCoordinator
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import PipelineFailure
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

ZONES = ("a", "b", "c")
BEHIND, AHEAD = 1_000, 5_000_000


class NotingChannel:
    """``at_once``: the answer to whatever comes; without it the test answers."""

    connected = True

    def __init__(self, *, at_once=None):
        self.given = []
        self._at_once = at_once
        self._open = []

    def submit(self, batch, done):
        self.given.append([command[:2] for command in batch.commands])
        if self._at_once is not None:
            done([self._at_once] * len(batch.commands))
        else:
            self._open.append(done)

    def answer(self, *replies):
        self._open.pop(0)(list(replies))

    def reset(self):
        pass


def unheard(outcome):
    pass


def test_what_is_submitted_from_within_an_answer_overtakes_nothing():
    channels = {zone: NotingChannel(at_once=1 if zone == "a" else None) for zone in ZONES}
    coordinator = PlainCoordinator(zone="a", channels=channels, runtime=SimRuntime(seed=1))

    def next_one(outcome):
        coordinator.submit(Level.DC_ONE, [("SET", "second", "2")], unheard)

    coordinator.submit(Level.DC_ONE, [("SET", "first", "1")], next_one)
    given = [[("SET", "first")], [("SET", "second")]]
    assert [channel.given for channel in channels.values()] == [given] * len(ZONES)


class Refused:
    """The account of a part that was certainly not carried out."""

    def error(self):
        return Unavailable("down")

    def anything_applied(self):
        return False


def test_a_pipeline_of_which_one_node_carried_out_its_part_is_in_doubt():
    assemblies = [SplitCommand(("SET", key, "1"), [Fragment(("SET", key, "1"), range(1))]) for key in "xy"]
    outcomes = []
    joint = SplitPipeline(assemblies, parts=[each.fragments for each in assemblies], done=outcomes.append)
    joint.answered(0, assemblies[0].fragments, [b"OK"])
    joint.answered(0, assemblies[1].fragments, PipelineFailure(Refused(), [ServerError("down")]))
    assert isinstance(joint.error(), Indeterminate)
    assert [outcome.maybe_applied for outcome in outcomes] == [True]


def test_a_pipeline_of_which_no_node_carried_out_anything_is_certainly_not_applied():
    assembly = SplitCommand(("SET", "x", "1"), [Fragment(("SET", "x", "1"), range(1))])
    joint = SplitPipeline([assembly], parts=[assembly.fragments], done=unheard)
    joint.answered(0, assembly.fragments, PipelineFailure(Refused(), [ServerError("down")]))
    assert isinstance(joint.error(), Unavailable)


def test_a_removal_is_forgotten_once_every_zone_has_carried_it_out_and_not_before():
    runtime = SimRuntime(seed=1)
    channels = {zone: NotingChannel() for zone in ZONES}
    coordinator = RepairingCoordinator(zone="a", channels=channels, runtime=runtime, now_ms=lambda: 1)
    coordinator.submit(Level.DC_QUORUM, [("DEL", "k")], unheard)
    given = []
    for zone in ZONES:
        channels[zone].answer(1)
        runtime.run(for_ns=1)
        given.append(len(channels["a"].given))
    assert given == [1, 1, 2]


def test_a_version_that_a_zone_was_ahead_of_is_not_written_again():
    clock = VersionClock(now_us=lambda: 0, position=1)
    channels = {zone: NotingChannel() for zone in ZONES}
    coordinator = VersionedCoordinator(zone="a", channels=channels, runtime=SimRuntime(seed=1), clock=clock)
    coordinator.met(AHEAD, BEHIND)
    assert clock.next() > AHEAD
    assert coordinator.statistics.options["older than what was there"] == 1

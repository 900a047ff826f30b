"""One message under the lens: where each zone had it, who held its lease, which votes decided, and what went wrong.

A simulated run is made again from its ``scenario.yaml`` and watched meanwhile; it counts only if its events are those
of the run on disk. A run on real servers may have recorded its votes. Of any other run the history tells what its
clients saw, and what zones held in between is unknown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.checkers.queue.cases import cases_of_message
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.number_text import counted
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.stories.lines import Line, StorySource, rows_with
from zonelab.analysis.stories.message_stories import message_story
from zonelab.analysis.summary.run_summary import load_verdict
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.testbed import Testbed
from zonelab.engine.units import NS_PER_MS, NS_PER_S
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.queues.places import places_of
from zonelab.scenarios.run.command_log import CommandLog, SentCommand, touches
from zonelab.scenarios.run.naming import MessageNaming
from zonelab.scenarios.run.vote_table import has_votes, recorded_votes
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.again import MESSAGES_MAX, NotMadeAgain, kept_scenario, made_again, resolved_scenario
from zonelab.studies.stories.recorded_strips import recorded_strips, why_no_places, why_not_recorded
from zonelab.studies.stories.timeline import command_lines
from zonelab.studies.stories.zone_strips import Span, ZoneStrips

_COLUMNS = ("time_ns", "process", "zone", "f", "type", "op_id", "message_id", "delivery", "lease_end_ms")


@dataclass(frozen=True, slots=True)
class LeaseSpan:
    """A lease as its holder knew it: from the answer that gave it until it ended, or until the ack was confirmed."""

    holder: str
    zone: str
    delivery: int
    begin_ns: int
    end_ns: int
    acked: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Lens:
    """``lines``: all that happened to the message, in the order of time. Times are run time in ns.

    ``strips``: the states by zone; empty if they are ``unknown``, which says why. ``cases``: what the verdict calls
    wrong, as class and case.
    """

    info: RunInfo
    message_id: str
    cases: tuple[tuple[str, Case], ...]
    strips: Mapping[str, tuple[Span, ...]]
    unknown: str
    leases: tuple[LeaseSpan, ...]
    lines: tuple[Line, ...]
    left_out: int
    at_rest: tuple[str, ...]


def lens(run: RunDirectory, message_id: str, *, watcher: Watcher | None = None) -> Lens:
    """Look at one message of a run of a queue.

    Raises ``NotAccepted`` if the run has no such message, ``RunError`` if its files cannot be read or its clients used
    no queue.
    """
    return lenses(run, [message_id], watcher=watcher)[message_id]


def lenses(run: RunDirectory, message_ids: Sequence[str], *, watcher: Watcher | None = None) -> dict[str, Lens]:
    """Look at several messages of a run of a queue, which is made again once. Raises what ``lens`` does."""
    verdict = load_verdict(run)
    told = {message_id: _from_history(run, verdict, message_id) for message_id in message_ids}
    seen = _Seen.of(run, message_ids, watcher)
    return {message_id: seen.added(message_id, history) for message_id, history in told.items()}


def sees_zones(run: RunDirectory) -> bool:
    """Return whether the lens sees the zones of ``run``: it can be made again, or has recorded its votes."""
    if run.info.workload is not None:
        return False
    return has_votes(run) or (run.info.arm == Arm.SIM and load_verdict(run).begun <= MESSAGES_MAX)


def _from_history(run: RunDirectory, verdict: Verdict, message_id: str) -> Lens:
    """Return the lens of a message without what its zones held in between."""
    cases = (*cases_of_message(run.path, message_id), *_of_order(verdict, message_id))
    telling = {one.operation_index for _, one in cases if one.operation_index is not None}
    story = message_story(run, message_id, telling=telling)
    if not story.lines and not any("nothing" not in one for one in story.at_rest):
        raise NotAccepted(f"{run.path} has no message {message_id!r}{_nearest(run, message_id)}")
    return Lens(
        info=run.info,
        message_id=message_id,
        cases=cases,
        strips={},
        unknown="",
        leases=tuple(_leases(run, message_id)),
        lines=story.lines,
        left_out=story.left_out,
        at_rest=story.at_rest,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    """Sights of messages beside what clients saw. ``strips``: by message and zone.

    It comes from the run made again, or from the votes that it has recorded; ``unknown`` says what is missing and why.
    """

    commands: Sequence[SentCommand] = ()
    through: bool = False
    strips: Mapping[str, Mapping[str, tuple[Span, ...]]]
    unknown: str

    @classmethod
    def of(cls, run: RunDirectory, message_ids: Sequence[str], watcher: Watcher | None) -> "_Seen":
        try:
            if has_votes(run):
                return cls._recorded(run, message_ids, resolved_scenario(run))
            return cls._made_again(run, message_ids, kept_scenario(run), watcher)
        except NotMadeAgain as error:
            return cls(strips={}, unknown=str(error))

    @classmethod
    def _made_again(
        cls, run: RunDirectory, message_ids: Sequence[str], scenario: Scenario, watcher: Watcher | None
    ) -> "_Seen":
        log = CommandLog(list(map(MessageNaming, message_ids)))
        places = places_of(scenario.queue, scenario.zones)
        watched = {message_id: ZoneStrips(message_id, places) for message_id in message_ids}

        def observe(cluster: SimCluster) -> Testbed:
            for one in watched.values():
                one.watch(cluster)
            return log.testbed(cluster)

        trial = made_again(run, scenario, observe=observe, watcher=watcher)
        end_ns = max(end for _, end in trial.run.record.phases.values())
        strips = {message_id: one.spans(end_ns=end_ns) for message_id, one in watched.items()} if places else {}
        through = not scenario.clients.as_usual
        return cls(commands=log.commands, through=through, strips=strips, unknown=why_no_places(scenario))

    @classmethod
    def _recorded(cls, run: RunDirectory, message_ids: Sequence[str], scenario: Scenario) -> "_Seen":
        namings = {message_id: MessageNaming(message_id) for message_id in message_ids}
        commands, until_ns = recorded_votes(run, list(namings.values()))
        ends_ns = [end for _, end in run.info.phases.values()] if until_ns is None else [until_ns]
        unknown, strips = why_not_recorded(scenario), {}
        if not unknown:
            strips = {
                message_id: recorded_strips(
                    message_id,
                    scenario,
                    [one for one in commands if touches(one, [naming])],
                    faults=run.faults(),
                    end_ns=max(ends_ns, default=0),
                )
                for message_id, naming in namings.items()
            }
        if until_ns is not None:
            until = f"from {until_ns / NS_PER_S:.3f} s on, when as many votes were recorded as may be"
            unknown = "; ".join(filter(None, [unknown, until]))
        return cls(commands=commands, through=not scenario.clients.as_usual, strips=strips, unknown=unknown)

    def added(self, message_id: str, history: Lens) -> Lens:
        """Return the lens of a message with what was seen of it."""
        strips = self.strips.get(message_id, {})
        lines = [*history.lines, *self._lines(message_id, history.lines, strips)]
        return replace(
            history, strips=strips, unknown=self.unknown, lines=tuple(sorted(lines, key=lambda line: line.time_ns))
        )

    def _lines(self, message_id: str, known: Sequence[Line], strips: Mapping[str, tuple[Span, ...]]) -> Iterator[Line]:
        """Commands that name the message, each zone's answers, and from the first of all that on what a zone holds."""
        naming = [MessageNaming(message_id)]
        sent = [one for one in self.commands if touches(one, naming)]
        between = [line.time_ns for line in known]
        commands = list(command_lines(sent, through=self.through, between=between))
        yield from commands
        first_ns = min([line.time_ns for line in (*known, *commands)], default=0)
        for zone, spans in strips.items():
            for before, after in pairwise(spans):
                if after.begin_ns >= first_ns:
                    yield Line(after.begin_ns, f"zone {zone}", f"{before.state} → {after.state}")


def _of_order(verdict: Verdict, message_id: str) -> Iterator[tuple[str, Case]]:
    """Yield the first cases of properties of order that concern the message."""
    for name, cases in () if verdict.order is None else verdict.order.cases.items():
        yield from ((str(name), one) for one in cases if one.message_id == message_id)


def _leases(run: StorySource, message_id: str) -> Iterator[LeaseSpan]:
    """Yield a span for each delivery with a lease, in the order in which they began."""
    epoch_ns, spans = run.info.epoch_ns, dict[int, LeaseSpan]()
    for row in rows_with(run.operations(_COLUMNS, messages=[message_id]), "message_id", [message_id]):
        delivery = row["op_id"] if row["f"] == "pop" and row["delivery"] is None else row["delivery"]
        if row["type"] != "ok" or delivery is None:
            continue
        known = spans.get(delivery)
        if row["f"] == "ack":
            if known is not None and not known.acked:
                spans[delivery] = replace(known, end_ns=min(row["time_ns"], known.end_ns), acked=True)
        elif row["lease_end_ms"] is not None:
            end_ns = row["lease_end_ms"] * NS_PER_MS - epoch_ns
            begun = LeaseSpan(row["process"], row["zone"], delivery, row["time_ns"], end_ns, acked=False)
            spans[delivery] = begun if known is None else replace(known, end_ns=end_ns)
    yield from spans.values()


def _nearest(run: RunDirectory, message_id: str) -> str:
    """Return the nearest id of the run as a question."""
    known: set[str] = set()
    for columns in run.message_rows("operations", ("message_id",)):
        known.update(columns["message_id"].unique().to_pylist())
    near = did_you_mean(message_id, sorted(known)) if len(known) <= MESSAGES_MAX else ""
    return f"{near}; it has {counted(len(known), 'message')}"

"""Strict mode at a coordinator: it refuses some of its clients' commands, and checks the replies to others."""

from collections.abc import Callable, Sequence
from functools import partial

from zonelab.cluster.commands.routes import is_write, upper
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.coordinators.door import Send
from zonelab.cluster.coordinators.split_commands import Fragment, SplitCommand, SplitPipeline
from zonelab.cluster.options.codec import CommandCodec
from zonelab.cluster.options.strict.forms import MULTI_KEY, PREFIX, Request, refused_reply, refused_request
from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.votes.pipeline import Done, Outcome, PipelineFailure, translated
from zonelab.cluster.votes.shared_batch import Member
from zonelab.engine.ports import Command, Indeterminate, PortError, Reply, ServerError

REFUSED = "refused by strict mode"


class StrictDoor:
    """The door of a coordinator in one of ``data_centres`` data centres, with ``zones`` zones in its own.

    ``count``: called with what was refused, and how often.
    """

    def __init__(
        self, *, zones: int, data_centres: int, codec: CommandCodec, count: Callable[[str, int], None]
    ) -> None:
        self._zones = zones
        self._data_centres = data_centres
        self._codec = codec
        self._count = count

    def refusal(self, command: Command, level: Setting) -> str | None:
        found = refused_request(Request(command, level, self._zones, self._data_centres))
        self._count(REFUSED, int(found is not None))
        return found

    def take(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None, send: Send) -> None:
        given = self._codec.commands(commands, packed)
        if given is None:  # a transaction, of which a port in strict mode has none
            send(level, commands, done, packed)
        else:
            self._take_given(level, commands, given, done, packed, send)

    def take_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes, send: Send
    ) -> None:
        given = self._codec.commands(commands, packed)
        assert given is not None, "what travels together is no transaction"
        begin = 0
        for its_commands, done in members:
            end = begin + len(its_commands)
            its = given[begin:end]
            self._take_given(level, its_commands, its, done, self._codec.packed(its), send)
            begin = end

    def _take_given(
        self,
        level: Setting,
        commands: Sequence[Command],
        given: Sequence[Command],
        done: Done,
        packed: bytes | None,
        send: Send,
    ) -> None:
        """``given`` is what is to be done, ``commands`` states by which rules and in which form it is answered."""
        done = translated(done, partial(self._outcome, given), partial(self._first, given))
        fragments = [self._fragment(level, *its) for its in zip(commands, given, strict=True)]
        runs = _runs(fragments, commands)
        if len(runs) == 1 and len(runs[0]) == len(commands):
            send(level, self._codec.like([one.command for one in fragments], commands), done, packed)
            return
        parts = [[fragments[index] for index in run] for run in runs]
        split = SplitPipeline([SplitCommand(one.command, [one]) for one in fragments], parts=parts, done=done)
        for run, its_fragments in zip(runs, parts, strict=True):
            its_commands = self._codec.like([one.command for one in its_fragments], commands)
            its_packed = self._codec.packed([given[index] for index in run])
            send(level, its_commands, split.part(0, its_fragments), its_packed)
        if not runs:
            split.conclude()

    def _fragment(self, level: Setting, command: Command, words: Command) -> Fragment:
        """Return what is sent for ``command``: its own words where votes have to know them."""
        fragment = Fragment(words if upper(words[0]) in MULTI_KEY else command, ())
        refusal = self.refusal(words, level)
        if refusal is not None:
            fragment.replies[0] = ServerError(refusal)
        return fragment

    def _first(self, given: Sequence[Command], begin: int, answers: Sequence[Reply]) -> list[Reply]:
        """Return the client's part of ``answers``, to the commands from ``begin`` on."""
        return [self._told(given[begin + place], answer) for place, answer in enumerate(answers)]

    def _outcome(self, given: Sequence[Command], begin: int, outcome: Outcome) -> Outcome:
        answers = outcome if isinstance(outcome, list) else outcome.answers
        first = self._first(given, begin, answers)
        changed = [place for place, answer in enumerate(first) if answer is not answers[place]]
        if not changed:
            return outcome
        lost = next((first[place] for place in changed if is_write(given[begin + place])), None)
        applied = any(map(is_write, given))
        return PipelineFailure(_Withheld(outcome, lost=lost, applied=applied), first)

    def _told(self, words: Command, answer: Reply) -> Reply:
        if isinstance(answer, ServerError):
            self._count(REFUSED, int(isinstance(answer, ZoneFailure) and str(answer).startswith(PREFIX)))  # by its vote
            return answer
        refusal = refused_reply(upper(words[0]), self._codec.decoded(answer))
        self._count(REFUSED, int(refusal is not None))
        return answer if refusal is None else ServerError(refusal)


class _Withheld:
    """The account of a pipeline of which a reply is withheld. ``lost``: the error in place of a write's reply."""

    def __init__(self, outcome: Outcome, *, lost: Reply, applied: bool) -> None:
        self._outcome = outcome
        self._lost = lost
        self._applied = applied

    def error(self) -> PortError | None:
        if isinstance(self._outcome, PipelineFailure):
            try:
                self._outcome.result()
            except PortError as error:
                return error
        return Indeterminate(str(self._lost)) if self._lost is not None else None

    def anything_applied(self) -> bool:
        return self._outcome.maybe_applied if isinstance(self._outcome, PipelineFailure) else self._applied


def _runs(fragments: Sequence[Fragment], commands: Sequence[Command]) -> list[list[int]]:
    """Return the positions of commands that are executed, in groups that are sent together.

    A command that is not sent as it was submitted is a group of its own.
    """
    runs: list[list[int]] = []
    alone = True
    for index, (fragment, command) in enumerate(zip(fragments, commands, strict=True)):
        if fragment.replies:
            continue
        was_alone, alone = alone, fragment.command is not command
        if alone or was_alone:
            runs.append([])
        runs[-1].append(index)
    return runs

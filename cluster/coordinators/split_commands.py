"""Join of the answers to parts of a pipeline, or of a command, that went to different nodes and data centres."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice, takewhile

from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.votes.pipeline import Done, GradualDone, Outcome, PipelineFailure
from zonelab.engine.ports import Command, Indeterminate, PortError, Reply, ServerError, Unavailable


class Fragment:
    """The part of a command that goes to one group of nodes.

    ``replies``: by data centre, of which 0 is the own one. ``asked``: how many data centres are to reply.
    """

    __slots__ = ("asked", "command", "positions", "replies")

    def __init__(self, command: Command, positions: Sequence[int]) -> None:
        self.command = command
        self.positions = positions
        self.replies: dict[int, Reply] = {}
        self.asked = 0

    def reply(self) -> Reply:
        """The first error, in order of the data centres; without errors the reply of the own data centre."""
        for dc in sorted(self.replies):
            if isinstance(self.replies[dc], ServerError):
                return self.replies[dc]
        return self.replies[0]

    @property
    def complete(self) -> bool:
        return len(self.replies) >= max(1, self.asked)

    def inconsistent(self) -> bool:
        """Refused in one place and carried out in another."""
        refused = [isinstance(reply, ServerError) for reply in self.replies.values()]
        return any(refused) and not all(refused)


class SplitCommand:
    """One command of a client: its fragments, and how their replies are joined.

    ``join`` is called with the fragments' replies and the positions of their keys, if none of them is an error.
    """

    __slots__ = ("command", "fragments", "join")

    def __init__(
        self,
        command: Command,
        fragments: Sequence[Fragment],
        join: Callable[[Sequence[Reply], Sequence[Sequence[int]]], Reply] | None = None,
    ) -> None:
        self.command = command
        self.fragments = fragments
        self.join = join

    def answer(self) -> Reply:
        """The first fragment's error is the whole command's, though others may have been carried out."""
        replies = [fragment.reply() for fragment in self.fragments]
        failed = next((reply for reply in replies if isinstance(reply, ServerError)), None)
        if failed is not None or self.join is None:
            return failed if failed is not None else replies[0]
        return self.join(replies, [fragment.positions for fragment in self.fragments])

    @property
    def complete(self) -> bool:
        return all(fragment.complete for fragment in self.fragments)

    def half_done(self) -> bool:
        failed = [isinstance(fragment.reply(), ServerError) for fragment in self.fragments]
        return (any(failed) and not all(failed)) or any(fragment.inconsistent() for fragment in self.fragments)


class SplitPipeline:
    """A pipeline in ``parts``, of these fragments each. ``done`` is called once all parts have been answered.

    If it is a ``GradualDone``, it receives the commands that are answered before the others early, in order.
    """

    def __init__(self, commands: Sequence[SplitCommand], *, parts: Sequence[Sequence[Fragment]], done: Done) -> None:
        self._commands = commands
        self._left = len(parts)
        self._done = done
        self._told = 0
        self._outcomes: list[tuple[Sequence[Fragment], Outcome]] = []
        for fragments in parts:
            for fragment in fragments:
                fragment.asked += 1

    def part(self, dc: int, fragments: Sequence[Fragment]) -> Done:
        """Return the callback for the outcome of one of the parts, in one data centre."""
        if isinstance(self._done, GradualDone):
            return _GradualPart(self, self._done, dc, fragments)
        return partial(self.answered, dc, fragments)

    def answered(self, dc: int, fragments: Sequence[Fragment], outcome: Outcome, *, known: int = 0) -> None:
        """A part has its outcome, without the answers to its first ``known`` fragments."""
        take(dc, fragments[known:], outcome if isinstance(outcome, list) else outcome.answers)
        self._outcomes.append((fragments, outcome))
        self._left -= 1
        if self._left == 0:
            self.conclude()
        elif isinstance(self._done, GradualDone):
            self.tell_first(self._done)

    def tell_first(self, done: GradualDone) -> None:
        """Report the answers that are complete and follow those reported before."""
        complete = list(takewhile(lambda command: command.complete, islice(self._commands, self._told, None)))
        if complete:
            self._told += len(complete)
            done.first([command.answer() for command in complete])

    def conclude(self) -> None:
        """All parts have been answered, or there is none."""
        answers = [command.answer() for command in self._commands[self._told :]]
        refused = any(isinstance(answer, ServerError) for answer in answers)
        self._done(PipelineFailure(self, answers) if refused else answers)

    def anything_applied(self) -> bool:
        """Return whether a server may have carried out a write of the pipeline, so that its failure is in doubt."""
        return any(
            outcome.maybe_applied
            if isinstance(outcome, PipelineFailure)
            else any(is_write(fragment.command) for fragment in fragments)
            for fragments, outcome in self._outcomes
        )

    def error(self) -> PortError | None:
        """Return the error of the whole: indeterminate as soon as any part may have been carried out."""
        errors: list[PortError] = []
        for _, outcome in self._outcomes:
            try:
                if isinstance(outcome, PipelineFailure):
                    outcome.result()
            except (Indeterminate, Unavailable) as error:
                errors.append(error)
        unclear = next((error for error in errors if isinstance(error, Indeterminate)), None)
        if unclear is not None:
            return unclear
        if errors:
            return Indeterminate(*errors[0].args) if self.anything_applied() else errors[0]
        half = next((each for each in self._commands if is_write(each.command) and each.half_done()), None)
        return None if half is None else Indeterminate(*_arguments(half.answer()))


class _GradualPart(GradualDone):
    """Callback of one part of ``split``, whose ``done`` takes the first answers early."""

    __slots__ = ("_dc", "_done", "_fragments", "_known", "_split")

    def __init__(self, split: SplitPipeline, done: GradualDone, dc: int, fragments: Sequence[Fragment]) -> None:
        self._split = split
        self._done = done
        self._dc = dc
        self._fragments = fragments
        self._known = 0

    def __call__(self, outcome: Outcome) -> None:
        self._split.answered(self._dc, self._fragments, outcome, known=self._known)

    def first(self, answers: Sequence[Reply]) -> None:
        begin, self._known = self._known, self._known + len(answers)
        take(self._dc, self._fragments[begin : self._known], answers)
        self._split.tell_first(self._done)


def take(dc: int, fragments: Sequence[Fragment], answers: Sequence[Reply]) -> None:
    """Give ``fragments`` what a data centre has answered."""
    for fragment, reply in zip(fragments, answers, strict=True):
        fragment.replies[dc] = reply


def _arguments(reply: Reply) -> tuple[object, ...]:
    return reply.args if isinstance(reply, ServerError) else ("answered differently in different data centres",)

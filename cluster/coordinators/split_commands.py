"""Makes one answer of many where parts of a pipeline, or of a command, went to different nodes and data centres."""

from collections.abc import Callable, Sequence

from cluster.commands.routes import is_write
from cluster.votes.pipeline import Done, Failure, Outcome
from engine.ports import Command, Indeterminate, PortError, Reply, ServerError, Unavailable


class Fragment:
    """The part of a command that goes to one group of nodes. ``replies``: by data centre, of which 0 is the own one."""

    __slots__ = ("command", "positions", "replies")

    def __init__(self, command: Command, positions: Sequence[int]) -> None:
        self.command = command
        self.positions = positions
        self.replies: dict[int, Reply] = {}

    def reply(self) -> Reply:
        """The first error, in order of the data centres; without errors the reply of the own data centre."""
        for dc in sorted(self.replies):
            if isinstance(self.replies[dc], ServerError):
                return self.replies[dc]
        return self.replies[0]

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

    def half_done(self) -> bool:
        failed = [isinstance(fragment.reply(), ServerError) for fragment in self.fragments]
        return (any(failed) and not all(failed)) or any(fragment.inconsistent() for fragment in self.fragments)


class SplitPipeline:
    """A pipeline in parts. ``done`` is called once all parts have been answered."""

    def __init__(self, commands: Sequence[SplitCommand], *, parts: int, done: Done) -> None:
        self._commands = commands
        self._left = parts
        self._done = done
        self._outcomes: list[tuple[Sequence[Fragment], Outcome]] = []

    def answered(self, dc: int, fragments: Sequence[Fragment], outcome: Outcome) -> None:
        answers = outcome if isinstance(outcome, list) else outcome.answers
        for fragment, reply in zip(fragments, answers, strict=True):
            fragment.replies[dc] = reply
        self._outcomes.append((fragments, outcome))
        self._left -= 1
        if self._left == 0:
            self.conclude()

    def conclude(self) -> None:
        answers = [command.answer() for command in self._commands]
        refused = any(isinstance(answer, ServerError) for answer in answers)
        self._done(Failure(self, answers) if refused else answers)

    def anything_applied(self) -> bool:
        """Whether a server may have carried out a write of the pipeline, so that its failure is in doubt."""
        return any(
            outcome.maybe_applied
            if isinstance(outcome, Failure)
            else any(is_write(fragment.command) for fragment in fragments)
            for fragments, outcome in self._outcomes
        )

    def error(self) -> PortError | None:
        """What a caller is to be told of the whole: indeterminate as soon as any part may have been carried out."""
        errors: list[PortError] = []
        for _, outcome in self._outcomes:
            try:
                if isinstance(outcome, Failure):
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


def _arguments(reply: Reply) -> tuple[object, ...]:
    return reply.args if isinstance(reply, ServerError) else ("answered differently in different data centres",)

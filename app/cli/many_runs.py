"""Options of all verbs over many runs, the command line that repeats such a verb, and its end."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol

import typer

from zonelab.app.cli.exits import LabError
from zonelab.app.cli.options import RUNS_MAX, AsJson, AsJUnit, Conf, Jobs, Master, RunsDirectory, SeedFrom, where_of
from zonelab.app.terminal.json_output import Printable, show
from zonelab.app.terminal.junit import JUnitFile, Suite

if TYPE_CHECKING:
    from zonelab.studies.many_runs.where import Where

RUNS = Path("runs")


class StudyResult(Printable, Protocol):
    """The result of a verb over many runs. ``problems``: why runs have no result; the first ends the verb with 3."""

    @property
    def problems(self) -> Sequence[str]: ...
    @property
    def exit_code(self) -> int: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyOptions:
    """Options that all verbs over many runs have. ``seeds``: empty if the verb has no ``--runs`` of these."""

    verb: str
    seeds: range
    where: "Where"
    directory: Path
    junit: JUnitFile | None
    as_json: bool

    def command(self, *words: str) -> str:
        """Return the command line that repeats or continues the study, of which ``words`` are the verb's own."""
        from zonelab.studies.many_runs.where import seed_words
        from zonelab.studies.reporting.footer import command_line

        own = ["zonelab", self.verb, *words, *seed_words(self.seeds), *self.where.words]
        return command_line(own, runs=self.directory)

    def end(self, result: StudyResult, suite: Suite) -> NoReturn:
        """Write and print ``result``, and end the verb with its exit code."""
        if self.junit is not None:
            self.junit.write(suite)
        show(result, as_json=self.as_json)
        for problem in result.problems:
            raise LabError(problem, printed=True)
        raise typer.Exit(result.exit_code)


def words_of(option: str, values: Iterable[str] | None) -> list[str]:
    """Return ``option`` with each of ``values``, as a command line has them."""
    return [word for value in values or () for word in (option, value)]


def over_many_runs(*, runs: int | None = None, each: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb the options that all verbs over many runs have: it is called with them as ``options``.

    ``runs``: how many seeds by default, of which ``each`` is the help; without it the verb has no ``--runs`` of these,
    and if it has a ``seed`` of its own, no ``--seed-from``.
    """

    def decorated(verb: Callable[..., None]) -> Callable[..., None]:
        common = {name: one for name, one in signature(_options_of).parameters.items() if name != "verb"}
        if runs is None:
            del common["runs"]
            if "seed" in signature(verb).parameters:
                del common["seed_from"]
        else:
            annotation = Annotated[int, typer.Option(min=1, max=RUNS_MAX, help=each)]
            common["runs"] = common["runs"].replace(default=runs, annotation=annotation)

        def command(**values: Any) -> None:
            options = _options_of(verb.__name__, **{name: values.pop(name) for name in common})
            verb(**values, options=options)

        own = [one for one in signature(verb).parameters.values() if one.name != "options"]
        first = [one for one in own if one.kind is not Parameter.KEYWORD_ONLY]
        seeds = [common[name] for name in ("runs", "seed_from") if name in common]
        parameters = [*first, *seeds, *own[len(first) :], *(one for one in common.values() if one not in seeds)]
        command.__name__, command.__doc__, command.__module__ = verb.__name__, verb.__doc__, verb.__module__
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorated


def _options_of(
    verb: str,
    *,
    runs: int = 0,
    seed_from: SeedFrom = 1,
    jobs: Jobs = 1,
    master: Master = None,
    conf: Conf = None,
    directory: RunsDirectory = RUNS,
    junit: AsJUnit = None,
    as_json: AsJson = False,
) -> StudyOptions:
    return StudyOptions(
        verb=verb,
        seeds=range(seed_from, seed_from + runs),
        where=where_of(jobs, master, conf),
        directory=directory,
        junit=junit,
        as_json=as_json,
    )

"""Options that several verbs have, and the checks of what typer cannot check alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from zonelab.app.terminal.junit import JUnitFile
from zonelab.cluster.random_streams import SEED_MAX
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.arms import On, ZoneKind
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.extras import Extra, require
from zonelab.scenarios.spec.library import library_names

if TYPE_CHECKING:
    from zonelab.studies.many_runs.where import Where

_Where = TypeVar("_Where", On, ZoneKind, On | None, ZoneKind | None)

JOBS_MAX = 1_024
RUNS_MAX = 10_000_000

AsJUnit = Annotated[
    JUnitFile | None,
    typer.Option("--junit", metavar="FILE", parser=JUnitFile.begin, help="Also write the verdict as JUnit XML."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")]


Opens = Annotated[bool, typer.Option("--open", help="Open the page in the browser; the exit code stays the same.")]


def _names_beginning(incomplete: str) -> list[str]:
    return [name for name in library_names() if name.startswith(incomplete)]


Source = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A scenario that zonelab scenarios lists, or a YAML file.",
        autocompletion=_names_beginning,
    ),
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, e.g. runs/zone-crash/latest.")]
RunsDirectory = Annotated[Path, typer.Option("--dir", help="Folder in which run directories are made.", metavar="DIR")]


def containers_possible(parameter: typer.CallbackParam, where: _Where) -> _Where:
    """Return ``where``. Raise at once if it is containers and the Docker SDK is missing."""
    if where == ZoneKind.DOCKER:
        require(Extra.DOCKER, asked=f"{parameter.opts[0]} {where}")
    return where


def _spark_possible(master: str | None) -> str | None:
    if master is not None:
        require(Extra.SPARK, asked="--master")
    return master


RunsOn = Annotated[
    On | None,
    typer.Option(
        "--on",
        help="Simulation, or real servers in processes or containers; the scenario's own if not given.",
        callback=containers_possible,
    ),
]
OwnQueue = Annotated[
    str | None,
    typer.Option(
        "--queue",
        metavar="MODULE:FUNCTION",
        help="A queue of your own, in place of the scenario's; see docs/properties.md.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Change one value of the scenario, e.g. faults[0].zone=c. May be repeated."
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary", metavar="PATH=VALUE,…", help="Values of a field to try, e.g. level=DC_ONE,DC_QUORUM. May be repeated."
    ),
]
AtLevel = Annotated[Level | None, typer.Option(help="Consistency level; the scenario's own if not given.")]
Seed = Annotated[
    int | None,
    typer.Option(min=0, max=SEED_MAX, help="Seed of the load and of the link lags; the scenario's own if not given."),
]
MonitorPort = Annotated[
    int, typer.Option(min=0, max=65535, help="Port of the live page and its metrics. 0: any free port.")
]
Jobs = Annotated[int, typer.Option(min=1, max=JOBS_MAX, help="Processes that make runs at the same time.")]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Make the runs on Spark instead: local[2], spark://HOST:PORT, yarn, …; the results are the same.",
        callback=_spark_possible,
    ),
]
Conf = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark, spark.NAME=VALUE. May be repeated.")
]
SeedFrom = Annotated[int, typer.Option(min=0, max=SEED_MAX, help="The first seed.")]
Messages = Annotated[int, typer.Option(min=1, max=RUNS_MAX, help="About how many messages each run pushes.")]
Page = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write the tables, as HTML, CSV or Markdown, by its ending.")
]


def overrides_of(given: list[str] | None, *, queue: str | None = None, level: Level | None = None) -> list[str]:
    """Return the overrides of ``--set``, then those that ``--queue`` and ``--level`` stand for."""
    if queue is not None:
        _check_factory(queue)
    own = {"queue.factory": queue, "level": level}
    return [*(given or ()), *(f"{path}={value}" for path, value in own.items() if value is not None)]


def _check_factory(named: str) -> None:
    """Raise ``NotAccepted`` for a queue that cannot be imported: the error names ``--queue``, not ``queue.factory``."""
    from zonelab.scenarios.spec.queue_factory import load_factory

    try:
        load_factory(named)
    except ValueError as error:
        raise NotAccepted(f"--queue: {error}") from None


def run_directory(path: Path) -> Path:
    if not path.is_dir():
        raise NotAccepted(f"{path}: {'is not a directory' if path.exists() else 'no such run directory'}")
    return path.resolve()


def spark_settings(given: list[str] | None) -> dict[str, str]:
    """Return the settings of ``--conf`` by name. Raise ``NotAccepted`` unless each is ``spark.NAME=VALUE``."""
    pairs = [text.partition("=") for text in given or ()]
    for name, equals, value in pairs:
        if not name.startswith("spark.") or not equals:
            raise NotAccepted(f"--conf {name}{equals}{value}: accepted is spark.NAME=VALUE")
    return {name: value for name, _, value in pairs}


def where_of(jobs: int, master: str | None, conf: list[str] | None) -> "Where":
    """Return the place of the runs: ``jobs`` processes here, or the Spark cluster at ``master``."""
    from zonelab.studies.many_runs.where import Where

    settings = spark_settings(conf)
    if settings and master is None:
        raise NotAccepted("--conf needs --master")
    return Where(jobs=jobs, master=master, settings=settings)

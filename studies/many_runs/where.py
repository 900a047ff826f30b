"""Place where runs are made, as a command line says it, and the words of that command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zonelab.studies.many_runs.processes import Processes
from zonelab.studies.many_runs.task import Workers


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """In ``jobs`` processes; or on a Spark ``master``, with ``settings`` of Spark."""

    jobs: int = 1
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def workers(self) -> Workers:
        """Processes of this machine, or a Spark cluster if there is a ``master``."""
        if self.master is None:
            return Processes(self.jobs)
        from zonelab.studies.many_runs.spark import SparkWorkers  # which takes half a second to import

        return SparkWorkers(master=self.master, settings=self.settings)

    @property
    def words(self) -> Sequence[str]:
        """The words of a command line that ask for the same place."""
        if self.master is None:
            return ["--jobs", str(self.jobs)]
        words = ["--master", self.master]
        for name, value in self.settings.items():
            words += ["--conf", f"{name}={value}"]
        return words


HERE = Where()


def seed_words(seeds: range) -> Sequence[str]:
    """Return the words that ask for ``seeds``: how many, if any, and the first one if it is not 1, the default."""
    count = ["--runs", str(len(seeds))] if seeds else []
    return [*count, *(["--seed-from", str(seeds.start)] if seeds.start != 1 else [])]

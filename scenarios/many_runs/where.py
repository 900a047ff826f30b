"""Where runs are made, as a command line says it, and the words of that command line."""

from collections.abc import Sequence
from dataclasses import dataclass

from scenarios.many_runs.processes import Processes
from scenarios.many_runs.task import Workers


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """In ``jobs`` processes."""

    jobs: int = 1

    @property
    def workers(self) -> Workers:
        return Processes(self.jobs)

    @property
    def words(self) -> Sequence[str]:
        return ["--jobs", str(self.jobs)]


HERE = Where()


def seed_words(seeds: range) -> Sequence[str]:
    """Which seeds; the first one only if it is not 1, with which all begin unless told otherwise."""
    return ["--runs", str(len(seeds)), *(["--seed-from", str(seeds.start)] if seeds.start != 1 else [])]

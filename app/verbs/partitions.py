"""``zonelab partitions``: where groups stand in the partitions of a run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.partitions import PartitionState, partition_states
from zonelab.app.terminal.order_rows import partition_table
from zonelab.studies.reporting.console import print_table


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions of the run in ``directory``."""

    directory: Path
    states: Sequence[PartitionState]

    @classmethod
    def of(cls, directory: Path) -> "Partitions":
        """Raises ``RunError``."""
        return cls(directory, partition_states(RunDirectory.open(directory)))

    def to_json(self) -> Any:
        states = [{**asdict(state), "lag": state.lag} for state in self.states]
        return {"run": str(self.directory), "partitions": states}

    def print(self) -> None:
        print_table(partition_table(self.states, title=str(self.directory)))

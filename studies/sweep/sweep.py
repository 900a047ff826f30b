"""A sweep: every setting with every seed, going on with what is there."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.state import Codec
from zonelab.studies.reporting.forecast import forecast
from zonelab.studies.sweep.every_setting import EverySetting
from zonelab.studies.sweep.one_run import Sweeping, SweptRun
from zonelab.studies.sweep.result import SweepResult
from zonelab.studies.sweep.rows import Row, row_of
from zonelab.studies.sweep.settings import Setting

_CODEC = Codec(to_json=asdict, from_json=lambda told: SweptRun(**told))


@dataclass(frozen=True, kw_only=True)
class Sweep(EverySetting[SweptRun, SweepResult]):
    """``messages``: each seed draws its faults and more, as in a hunt, and pushes about so many; None: none draws."""

    verb, unit, codec, found = "sweep", "runs", _CODEC, SweepResult
    messages: int | None = None

    @property
    def made(self) -> Sweeping:
        return Sweeping(scenarios=tuple(setting.scenario for setting in self.settings), messages=self.messages)

    @property
    def beside(self) -> str:
        return str(self.messages)

    def forecast(self, seeds: int) -> str | None:
        """Of runs that are drawn nothing is known beforehand."""
        return None if self.messages is not None else forecast([one.scenario for one in self.settings], each=seeds)

    def rows(self, done: AllRuns[SweptRun]) -> tuple[Row, ...]:
        """The results by setting, each compared with the first pair by pair."""
        first = _of(done.results, self.settings[0])
        return tuple(
            row_of(
                setting.name,
                _of(done.results, setting),
                _of(done.failures, setting),
                first=first if setting is not self.settings[0] else None,
            )
            for setting in self.settings
        )


def _of(by_key: Mapping[tuple[str, int], Any], setting: Setting) -> dict[int, Any]:
    return {seed: value for (name, seed), value in sorted(by_key.items()) if name == setting.name}

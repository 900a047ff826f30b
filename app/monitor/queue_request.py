"""Which queue a page is to show: its name, and the engine whose keys it has."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.queues.places import Place, places_of
from zonelab.scenarios.spec.engines import ENGINES, queue_settings, unknown_engine
from zonelab.scenarios.spec.reading import explained

QUEUES_MAX = 16


class QueueRequest(BaseModel):
    """``name``: of the queue; a topic of gmq and youzan, the key of zset. ``prefix``: of its keys; None: as in runs.

    ``options``: of the section ``queue`` of a scenario, such as ``buckets``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200)
    engine: str = "dyno"
    mode: str = "default"
    prefix: str | None = Field(default=None, min_length=1, max_length=200)
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.engine if self.mode == "default" else f"{self.engine} {self.mode}"

    def places(self, zones: Sequence[str]) -> Sequence[Place]:
        """Return where the queue is in a server of a cluster of these zones. Raises ``NotAccepted``."""
        if self.engine not in ENGINES:
            raise NotAccepted(f"--engine: {unknown_engine(self.engine)}")
        modes = ENGINES[self.engine].modes
        if self.mode not in modes:
            raise NotAccepted(f"--mode: got {self.mode!r}; accepted of {self.engine}: {', '.join(modes)}")
        chosen = {"compat": True} if self.mode == "compat" else {"mode": self.mode}
        try:
            settings = queue_settings(self.engine, **chosen, **self.options)
        except ValidationError as error:
            wrong = error.errors(include_url=False)
            said = [explained({**one, "loc": ("queue", self.engine, *one["loc"])}) for one in wrong]
            raise NotAccepted("--set: " + "; ".join(f"{place}: {text}" for place, text in said)) from error
        places = places_of(settings, zones, name=self.name, prefix=self.prefix)
        if not places:
            accepted = [
                name for name, one in ENGINES.items() if not all(it.features.order for it in one.modes.values())
            ]
            words = f"got {self.engine!r}, whose partitions the page does not show; accepted: {', '.join(accepted)}"
            raise NotAccepted(f"--engine: {words}")
        return places

"""Changes the links of a running coordinator: a request names the state that is wanted, and may be repeated."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from zonelab.cluster.links.lag import Lag
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Cut, Link
from zonelab.cluster.zone import ClusterError

Ends = tuple[str, str]


def _lag(text: str) -> str:
    parse_lag(text)
    return text


class LinkState(BaseModel):
    """Requested state of one link; ``None`` for lag and loss restores the initial value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lag: Annotated[str, AfterValidator(_lag)] | None = None
    loss: float | None = Field(default=None, ge=0, lt=1)
    duplicate: float = Field(default=0.0, ge=0, le=1)
    duplicate_after_ms: float = Field(default=0.0, ge=0)
    cut: Cut | None = None


class LinkControls:
    """The links of one coordinator, as they were when this was made, and as they are wanted to be.

    To want the same twice changes nothing: a link that is cut is not cut again, so nothing that is under way on it is
    lost a second time.
    """

    def __init__(self, links: Mapping[Ends, Link]) -> None:
        self._links = dict(links)
        self._first: dict[Ends, tuple[Lag, float]] = {ends: (link.lag, link.loss) for ends, link in links.items()}
        self._wanted: dict[Ends, LinkState] = {}

    def apply(self, states: Mapping[str, LinkState]) -> None:
        """``states`` by link, written ``a>b``; links that are not named stay as they are. All or nothing."""
        found = {self._ends(name): state for name, state in states.items()}
        for ends, state in found.items():
            self._change(ends, state)

    def heal(self) -> None:
        """Every link as it began."""
        for ends in self._links:
            self._change(ends, LinkState())

    def described(self) -> list[dict[str, Any]]:
        return [self._described(ends, link) for ends, link in self._links.items()]

    def _ends(self, name: str) -> Ends:
        source, _, target = name.partition(">")
        if (source, target) not in self._links:
            accepted = ", ".join(f"{one}>{other}" for one, other in self._links)
            raise ClusterError(f"there is no link {name!r} here; accepted: {accepted}")
        return source, target

    def _change(self, ends: Ends, state: LinkState) -> None:
        link, (first_lag, first_loss) = self._links[ends], self._first[ends]
        before = self._wanted.get(ends, LinkState())
        if state.lag != before.lag:
            link.set_lag(first_lag if state.lag is None else parse_lag(state.lag))
        loss = first_loss if state.loss is None else state.loss
        if loss != link.loss:
            link.set_loss(loss)
        if (state.duplicate, state.duplicate_after_ms) != (before.duplicate, before.duplicate_after_ms):
            link.set_duplication(state.duplicate, after_ns=round(state.duplicate_after_ms * 1e6))
        if state.cut is not link.cut_mode:
            link.cut(state.cut) if state.cut is not None else link.mend()
        self._wanted[ends] = state

    def _described(self, ends: Ends, link: Link) -> dict[str, Any]:
        wanted = self._wanted.get(ends, LinkState())
        return {
            "link": f"{link.source}>{link.target}",
            "lag": str(link.lag),
            "loss": link.loss,
            "duplicate": wanted.duplicate,
            "cut": None if link.cut_mode is None else link.cut_mode.value,
            "in_flight": link.in_flight,
        }

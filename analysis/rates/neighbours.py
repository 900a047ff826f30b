"""Settings that differ from another one in a single varied value, and in which figures runs tell them apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zonelab.analysis.number_text import listed
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Figure, told
from zonelab.analysis.rates.recommendation import apart


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingNeighbour:
    """``changed``: the value that differs, as ``queue.unack_ms=3000``. ``differs``: figures with both values."""

    changed: str
    differs: tuple[str, ...]
    alike: tuple[str, ...]

    def __str__(self) -> str:
        if not self.differs:
            return f"with {self.changed}: runs of the same seeds tell it apart in none of {listed(self.alike)}"
        return f"with {self.changed}: {'; '.join(self.differs)}"


def neighbours(
    settings: Mapping[str, SettingRates], name: str, figures: Sequence[Figure]
) -> Iterator[SettingNeighbour]:
    """Yield the settings that differ from ``name`` in one value, compared by seed at 95 % for all figures of it.

    What differs by less than the digits that are told is alike.
    """
    own = set(name.split())
    for other, measured in settings.items():
        changed = set(other.split()) - own
        if len(changed) != 1 or len(own) != len(other.split()):
            continue
        values = {one: [told(one, of.estimate(one)) for of in (measured, settings[name])] for one in figures}
        differing = {
            one
            for one, (there, here) in values.items()
            if there != here and apart(settings[name], measured, one, pairs=1 + len(figures))
        }
        yield SettingNeighbour(
            changed=changed.pop(),
            differs=tuple(
                f"{one} {there} instead of {here}" for one, (there, here) in values.items() if one in differing
            ),
            alike=tuple(str(one) for one in figures if one not in differing),
        )

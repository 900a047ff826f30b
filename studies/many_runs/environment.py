"""Versions that, besides scenario and seed, determine a run: zonelab, Python and the libraries beneath it.

Runs of two environments are two experiments: their results are never put together.
"""

import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Self

from zonelab.scenarios.run_files.directory import own_sources_fingerprint, program_fingerprint

_LIBRARIES = ("numpy", "scipy", "lupa")
"""They calculate: lags and statistics with the first two, scripts of the server with the last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Versions on which runs depend, by name. ``factories``: functions of the user's own, whose modules count, too."""

    factories: tuple[str, ...]
    parts: Mapping[str, str]

    @classmethod
    def here(cls, *, factories: Collection[str | None] = ()) -> Self:
        """That of this process."""
        parts = {
            "zonelab": version("zonelab"),
            "sources": program_fingerprint(),
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            **{name: version(name) for name in _LIBRARIES},
            "libc": " ".join(platform.libc_ver()).strip() or "unknown",
            "architecture": platform.machine(),
        }
        own = tuple(sorted({factory for factory in factories if factory is not None}))
        return cls(factories=own, parts=parts | {f"sources of {factory}": _own(factory) for factory in own})

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits."""
        text = "".join(f"{name}: {value}\n" for name, value in self.parts.items())
        return sha256(text.encode()).hexdigest()[:16]

    def naming(self, experiment: str) -> str:
        """12 hexadecimal digits of both, which name the directory of an ``experiment``."""
        return sha256(f"{self.fingerprint}\n{experiment}".encode()).hexdigest()[:12]

    def difference(self, parts: Mapping[str, str]) -> str | None:
        """Return what is otherwise with a worker of these ``parts``, with both values; None if nothing is."""
        names = [name for name in self.parts if parts.get(name) != self.parts[name]]
        words = [f"{name} is {parts.get(name, 'missing')} there and {self.parts[name]} here" for name in names]
        return "; ".join(words) or None


def _own(factory: str) -> str:
    try:
        return own_sources_fingerprint(factory)
    except ValueError as error:
        return str(error)

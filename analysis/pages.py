"""Parts that all pages have: the templates, the filters of their figures, and a script named by its hash."""

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

from jinja2 import Environment, PackageLoader, StrictUndefined

from zonelab.analysis.number_text import digits, percent, share_interval

REPORT_SCRIPTS = ("timeline.js", "lens.js", "copy.js")
"""Files that are the script of a run's report."""


@dataclass(frozen=True, slots=True)
class Script:
    """``hash``: as a Content-Security-Policy names it."""

    text: str
    hash: str

    @classmethod
    def of_template(cls, name: str) -> Self:
        """The file ``name`` beside the templates."""
        return cls.of_templates(name)

    @classmethod
    def of_templates(cls, *names: str) -> Self:
        """The files ``names`` beside the templates, in one."""
        folder = files("zonelab.analysis").joinpath("templates")
        text = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)
        digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
        return cls(text, f"sha256-{digest}")


def environment() -> Environment:
    """Every value is escaped, and one that is missing is an error."""
    made = Environment(
        loader=PackageLoader("zonelab.analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        ms=digits,
        count=_count,
        percent=percent,
        share_interval=share_interval,
        seconds=_seconds,
        exactly=_exactly,
        quantile=_quantile_name,
    )
    return made


def _count(value: int) -> str:
    return f"{value:,}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:.2f}"


def _exactly(time_ns: int) -> str:
    """Seconds to the microsecond: the order of events is what a story is about."""
    return f"{time_ns / 1e9:.6f}"


def _quantile_name(name: str) -> str:
    return "p99.9" if name == "p999" else name

"""A figure of runs as a file: where it goes and in which format, and what cannot be drawn as one line."""

from collections.abc import Sequence
from pathlib import Path

from zonelab.analysis.figures.draw import draw
from zonelab.analysis.figures.kinds.names import Format, NotDrawable, PlotKind
from zonelab.scenarios.errors import NotAccepted


def plotted(
    runs: Sequence[Path], kind: PlotKind, *, format_: Format | None, out: Path | None, by: str | None, width: float
) -> Path:
    """Draw ``kind`` of ``runs``; the file that was written. Raises ``NotAccepted``, ``RunError``, ``OSError``."""
    path = destination(kind, format_=format_, out=out)
    try:
        return draw(runs, kind, path, by=by, width=width)
    except NotDrawable as error:
        raise NotAccepted(str(error)) from error


def destination(kind: PlotKind, *, format_: Format | None, out: Path | None) -> Path:
    """Return where the figure goes; its ending is its format. Raises ``NotAccepted``."""
    if out is None:
        return Path(f"{kind}.{format_ or Format.PNG}")
    ending = out.suffix.removeprefix(".").lower()
    if not ending:
        return out.with_name(f"{out.name}.{format_ or Format.PNG}")
    if ending not in set(Format):
        raise NotAccepted(f"--out {out}: no format .{ending}; accepted: {', '.join(Format)}")
    if format_ is not None and ending != format_:
        raise NotAccepted(f"--out {out}: is no {format_}; leave out --format, or let the file end in .{format_}")
    return out

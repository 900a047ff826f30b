"""Layout of texts in a figure: their width, and line breaks by which they fit."""

from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

POINTS_PER_INCH = 72


@lru_cache(maxsize=4_096)
def width_points(text: str, *, size: float, weight: str = "normal") -> float:
    """Return how wide one line of text is, in points: by what the font says of its glyphs, since their outlines take
    long.
    """
    width, *_ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size, weight=weight), ismath=False)
    return float(width)


def wrapped(text: str, *, inches: float, size: float, weight: str = "normal") -> str:
    """``text`` in lines of at most ``inches``; a word that is longer has a line of its own, cut where it must be."""
    room = inches * POINTS_PER_INCH
    lines: list[str] = []
    for word in (part for whole in text.split() for part in _parts(whole, room=room, size=size, weight=weight)):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_points(longer, size=size, weight=weight) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def _parts(word: str, *, room: float, size: float, weight: str) -> list[str]:
    parts = [word]
    while len(parts[-1]) > 1 and width_points(parts[-1], size=size, weight=weight) > room:
        rest = parts.pop()
        end = len(rest) - 1
        while end > 1 and width_points(rest[:end], size=size, weight=weight) > room:
            end -= 1
        parts += [rest[:end], rest[end:]]
    return parts

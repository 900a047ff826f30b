"""The rollout that ``zonelab new rollout`` writes, as text in which values are replaced line by line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TEMPLATE = Path(__file__).with_name("rollout.yaml")

_COMMENT = "  # "
_COMMENTS_AT = 38
_NAME = re.compile(r"(?P<indent> *)(?P<name>[\w.]+):(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """``text``: YAML after the name. ``comment``: that of the template if empty. ``below``: lines under the name."""

    text: str
    comment: str = ""
    below: tuple[str, ...] = ()


def filled(values: Mapping[str, WrittenValue], *, made_by: str) -> str:
    """The template with ``values`` by path, such as ``load.rate_per_s``; ``made_by`` is the line above them.

    Raises ``KeyError`` for paths that the template does not have.
    """
    left = dict(values)
    lines = [*_written(left, TEMPLATE.read_text(encoding="utf-8").splitlines())]
    if left:
        raise KeyError(", ".join(left))
    place = lines.index("#")
    return "\n".join([*lines[:place], f"# {made_by}", *lines[place:]]) + "\n"


def _aligned(line: str) -> str:
    """Return ``line`` with its comment where those of the template are, or right of what is longer."""
    value, mark, comment = line.partition(_COMMENT)
    return f"{value.rstrip():{_COMMENTS_AT - 2}}{_COMMENT}{comment}" if mark else line


def _written(left: dict[str, WrittenValue], lines: list[str]) -> Iterator[str]:
    """Yield the lines with the values of ``left``, from which each is taken."""
    path: list[tuple[int, str]] = []
    under: int | None = None
    for line in lines:
        match = _NAME.match(line)
        depth = len(line) - len(line.lstrip())
        if under is not None and line and depth > under:
            continue
        under = None
        if match is None:
            yield line
            continue
        path = [*(one for one in path if one[0] < depth), (depth, match["name"])]
        value = left.pop(".".join(name for _, name in path), None)
        if value is None:
            yield line
            continue
        under = depth
        own = match["rest"].partition(_COMMENT)[2]
        comment = f"{_COMMENT}{value.comment or own}" if value.comment or own else ""
        yield _aligned(f"{match['indent']}{match['name']}: {value.text}".rstrip() + comment)
        yield from (_aligned(f"{match['indent']}  {each}") for each in value.below)

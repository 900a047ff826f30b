"""Parts of pages that are made from the code, each between two comments of which the first names it.

``PYTHONPATH=tests python -m support.made_parts`` writes them into the pages.
"""

import ast
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from support.project_files import FOLDERS, ROOT

from zonelab.analysis.checkers.consistency.anomalies import FORBIDDEN_OF, Anomaly
from zonelab.analysis.checkers.order.properties import FORBIDDEN, Property
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, IN_DOUBT, MessageClass
from zonelab.studies.guarantees.matrix import JUDGED
from zonelab.studies.known.failure import failure_names, load_failure
from zonelab.studies.known.rows import read_rows, rows_table

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_PART = re.compile(
    r"(<!-- made by: PYTHONPATH=tests python -m support\.made_parts, ([a-z ]+) -->\n).*?(<!-- end of what is made -->)",
    re.DOTALL,
)


def parts_of(text: str) -> list[str]:
    """Return the names of the parts of a page that are made."""
    return [name for _, name, _ in _PART.findall(text)]


def made(text: str) -> str:
    """Return the ``text`` of a page with its parts as the code has them now."""
    return _PART.sub(lambda part: "\n".join((part[1], *PARTS[part[2]](), "", part[3])), text)


def layers_of(room: str) -> list[list[str]]:
    """The modules of ``room`` by layer, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in contracts if one.get("containers") == [f"zonelab.{room}"]]
    return [re.split(r" *[|:] *", layer) for layer in contract["layers"]]


def summary(module: str) -> str:
    """The first line of the docstring of ``module``, a path without its ending."""
    package = ROOT / module / "__init__.py"
    file = package if package.exists() else (ROOT / module).with_suffix(".py")
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").splitlines()[0]


def layers() -> Iterator[str]:
    """A table of modules for each room."""
    for number, room in enumerate(FOLDERS):
        yield from ([""] if number else [])
        rows = [
            (layer, f"`{module}`", summary(f"{room}/{module}"))
            for layer, modules in enumerate(layers_of(room), 1)
            for module in modules
        ]
        yield from (f"### `{room}/`", "", summary(room), "", *_table(("layer", "module", "what it is"), rows))


def message_classes() -> Iterator[str]:
    return _table(("class", "counts if", "default"), ((f"`{one}`", one.summary, _default(one)) for one in MessageClass))


def forbidden_classes() -> Iterator[str]:
    return _table(("forbidden", "counts if"), ((f"*{one.words}*", one.summary) for one in FORBIDDEN_DEFAULT))


def terms_of_messages() -> Iterator[str]:
    return _table(("term", "meaning"), ((one.words, one.summary) for one in sorted(MessageClass)))


def judged_classes() -> Iterator[str]:
    return (f"- **{one}**: {one.summary}." for one in JUDGED)


def properties() -> Iterator[str]:
    rows = (
        (one.value, one.label, one.summary, one.exercised_by, "forbidden" if one in FORBIDDEN else "allowed")
        for one in Property
    )
    return _table(("", "property", "broken if", "opportunities", "default"), rows)


def anomalies() -> Iterator[str]:
    rows = (
        (f"`{one}`", one.summary, ", ".join(kind for kind, names in FORBIDDEN_OF.items() if one in names))
        for one in Anomaly
    )
    return _table(("anomaly", "a case is", "forbidden by default of a"), rows)


def known_failures() -> Iterator[str]:
    """A table of what was measured, and what is known of each failure."""
    rows = read_rows()
    yield rows_table(rows).to_markdown()
    for one in map(load_failure, failure_names()):
        measured = any(row.failure == one.name for row in rows)
        versions = f"Affected: {one.affected}{' was run' if measured else ', not measured yet'}; newest: {one.newest}."
        versions += f" Seen up to {one.last_affected}." if one.last_affected else ""
        versions += f" Not seen from {one.mended} on." if one.mended else ""
        yield from ("", f"### {one.name}", "", f"{one.queue} {one.title} ([report]({one.link})).", "", one.known, "")
        yield from (f"Predicted: {one.prediction}", "", versions, *(["", one.tried] if one.tried else []))


PARTS: Mapping[str, Callable[[], Iterable[str]]] = {
    "layers": layers,
    "classes of messages": message_classes,
    "forbidden classes": forbidden_classes,
    "terms of messages": terms_of_messages,
    "judged classes": judged_classes,
    "properties": properties,
    "anomalies": anomalies,
    "known failures": known_failures,
}


def _default(name: MessageClass) -> str:
    if name is MessageClass.LATE:
        return "forbidden, where there is a bound"
    if name in IN_DOUBT:
        return "makes the run unknown"
    return "forbidden" if name in FORBIDDEN_DEFAULT else "allowed"


def _table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    heads = tuple(heads)
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |"


def write(pages: Iterable[Path] = PAGES) -> None:
    for page in pages:
        page.write_text(made(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()

"""The layers of every room as docs/architecture.md shows them: order from pyproject.toml, words from docstrings.

``PYTHONPATH=tests python -m support.layers`` writes them into the page.
"""

import ast
import re
import tomllib
from collections.abc import Iterator

from support.project_files import FOLDERS, ROOT

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- made by: PYTHONPATH=tests python -m support.layers -->\n", "<!-- end of what is made -->"


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


def lines() -> Iterator[str]:
    """Markdown: a table a room."""
    for room in FOLDERS:
        yield f"### `{room}/`\n\n{summary(room)}\n\n| layer | module | what it is |\n|---|---|---|"
        for number, modules in enumerate(layers_of(room), 1):
            for module in modules:
                yield f"| {number} | `{module}` | {summary(f'{room}/{module}').replace('|', chr(92) + '|')} |"
        yield ""


def page() -> str:
    """Return the page with the tables as they are now."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{chr(10).join(lines())}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

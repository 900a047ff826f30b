"""A counterexample as one page that can be sent: what broke, the lens, the story, the file and the command."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.lens_page import lens_parts
from zonelab.analysis.pages import Script, environment
from zonelab.analysis.whole_files import write_whole


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedCase:
    """Content of the page.

    ``sentences``: on the run. ``story``: Markdown, as a shrink writes it; ``lens``: what ``zonelab lens --json``
    prints; either may be missing. ``text``: the whole file, to be saved under ``name``. ``facts``: versions, and the
    trace hash.
    """

    title: str
    word: str
    setting: str
    sentences: Sequence[str]
    story: str
    lens: Mapping[str, Any] | None
    name: str
    text: str
    command: str
    facts: Mapping[str, str]


def write_share_page(shared: SharedCase, path: Path) -> Path:
    """Write the page to ``path``, and return it. Raises ``OSError``."""
    page = (
        environment()
        .get_template("share.html")
        .render(
            title=shared.title,
            shared=shared,
            story=list(_blocks(shared.story)),
            lens=None if shared.lens is None else lens_parts(shared.lens),
            script=Script.of_templates("lens.js", "copy.js"),
        )
    )
    return write_whole(path, page)


def _blocks(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs, preformatted parts and lists of a story, without its heading and its first sentence."""
    parts = markdown.strip().split("\n\n")[2:] if markdown else []
    while parts:
        part = parts.pop(0)
        if part.startswith("```text"):
            while not part.endswith("```"):
                part += "\n\n" + parts.pop(0)
            yield "pre", part.removeprefix("```text\n").removesuffix("```").rstrip()
        elif part.startswith("- "):
            yield "list", part.replace("- ", "", 1).replace("\n- ", "\n")
        else:
            yield "p", part.replace("**", "")

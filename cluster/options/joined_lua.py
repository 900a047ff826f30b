"""Scripts out of .lua files: what several of them begin with stands in a file of its own."""

from pathlib import Path


def joined_lua(folder: Path, *names: str) -> str:
    """The text of the files ``names`` in ``folder``, one after the other, with an empty line before each."""
    return "".join("\n" + (folder / f"{name}.lua").read_text(encoding="utf-8") for name in names)

"""Names near to one that is not known, for errors that offer them."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, accepted: Iterable[str]) -> str:
    """The one of ``accepted`` that is nearest to ``given``, in brackets after a space; nothing if none is near."""
    names = {name.lower(): name for name in accepted}
    return "".join(f" (did you mean {names[near]}?)" for near in get_close_matches(given.lower(), names, n=1))

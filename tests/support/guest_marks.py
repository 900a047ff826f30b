"""Marks of tests that run guests: what has to be on the machine for the language of each."""

import pytest

from zonelab.scenarios.guests.guest import Language, load_guest

_TOOLS = {Language.NODE: pytest.mark.node, Language.GO: pytest.mark.go, Language.JAVA: pytest.mark.maven}


def guest_marks(name: str) -> list[pytest.MarkDecorator]:
    """Marks of a test of guest ``name``, or of the guest in that folder."""
    tool = _TOOLS.get(load_guest(name).language)
    return [pytest.mark.real, pytest.mark.packages, *([] if tool is None else [tool])]

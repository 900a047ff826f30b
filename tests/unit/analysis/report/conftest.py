"""Figures of pages are drawn where a browser looks at them; elsewhere their files may be left blank."""

import pytest
from support.analysis.figures import left_blank

from analysis.figures import plot_style


@pytest.fixture
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("chromium") is None:
        monkeypatch.setattr(plot_style, "save", left_blank)

"""Fixtures of the tests of tables."""

from typing import Any

import pytest
from rich.console import RenderableType

from zonelab.studies.reporting.console import print_table


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what is printed of a table, without the blanks at the ends of its lines."""
    monkeypatch.setenv("COLUMNS", "180")

    def of(table: RenderableType) -> str:
        print_table(table)
        return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()).strip("\n")

    return of

"""Figures of reports are drawn where somebody looks at them; elsewhere their files may be left blank."""

import pytest


@pytest.fixture
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("chromium") is None:
        from support.analysis.figures import left_blank  # takes Matplotlib, which few tests need

        monkeypatch.setattr("zonelab.analysis.figures.plot_style.save", left_blank)


@pytest.fixture(autouse=True)
def no_width_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are as wide as where there is no terminal, whatever that of the tests is, or what another test has left."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def whole_words_at_80(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table that a test prints breaks a word or a number where a terminal has 80 columns only."""
    from support.studies.whole_words import broken_words

    from zonelab.studies.reporting.report_table import ReportTable

    console = ReportTable.__rich_console__

    def checked(table, out, options):
        if options.max_width != 80:
            broken = broken_words(table, width=80)
            assert broken == [], broken
        return console(table, out, options)

    monkeypatch.setattr(ReportTable, "__rich_console__", checked)

"""Goal: duplicates and losses of a sweep are drawn against what was swept. Method: a sweep's file made by hand."""

import json
from pathlib import Path

import pytest
from support.analysis.figures import interval, kept_figures, line, panel

from zonelab.analysis.figures.draw import draw
from zonelab.analysis.figures.kinds.names import NotDrawable, PlotKind
from zonelab.analysis.runs.errors import RunError


def sweep(folder: Path) -> Path:
    """Two levels, two leases, six seeds; the seed's number of messages of 1,000 is lost at DC_ONE; a line cut off."""
    folder.mkdir()
    lines = [json.dumps({"fingerprint": "0"})]
    for seed in range(1, 7):
        for level in ("DC_ONE", "DC_QUORUM"):
            for unack_ms in (2000, 500):
                cases = {"lost": seed} if level == "DC_ONE" else {}
                result = {"valid": not cases, "cases": cases, "numbers": {}, "messages": 1_000, "problem": None}
                setting = f"level={level} queue.unack_ms={unack_ms}"
                lines.append(json.dumps({"setting": setting, "seed": seed, "result": result}))
    (folder / "results.jsonl").write_text("\n".join([*lines, lines[1][:30]]), encoding="utf-8")
    return folder


def test_a_sweep_is_drawn_against_a_swept_value_with_a_line_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = kept_figures(monkeypatch)
    draw([sweep(tmp_path / "sweep-0")], PlotKind.LOSS, tmp_path / "x.png", by="queue.unack_ms")
    axis = panel(figures["x.png"], "lost")
    assert [values.tolist() for values in line(axis, "DC_ONE")] == [[500, 2000], [3.5, 3.5]]
    assert interval(axis, "DC_ONE") == [(500, 1, 6), (2000, 1, 6)]
    assert line(axis, "DC_QUORUM")[1].tolist() == [0, 0]
    assert (axis.get_ylabel(), axis.get_title(loc="left")) == ("per 1,000 pushed", "lost, n = 6 runs")


def test_what_a_sweep_cannot_show_is_said(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "sweep-0")
    with pytest.raises(NotDrawable, match="a sweep keeps no histories; accepted: duplicates, loss"):
        draw([folder], PlotKind.RATE, tmp_path / "x.png")
    (folder / "results.jsonl").write_text("{}\n[]\n", encoding="utf-8")
    with pytest.raises(RunError, match="not the results of a sweep"):
        draw([folder], PlotKind.LOSS, tmp_path / "x.png")

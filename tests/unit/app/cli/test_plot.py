"""Goal: ``zonelab plot`` writes what was asked for, where it was asked for, and says in one line what it cannot.

Method: its command line on runs made by hand.
"""

import json
from pathlib import Path

import pytest
from support.analysis.runs import eventful_run
from support.app.commands import Done, zonelab_here

from zonelab.analysis.figures.kinds.names import Format, PlotKind
from zonelab.analysis.runs.builder import RunBuilder

_BEGINS = {Format.PNG: b"\x89PNG", Format.SVG: b"<?xml", Format.PDF: b"%PDF"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return eventful_run(tmp_path_factory.mktemp("runs") / "run").write()


def plot(*words: object, cwd: Path) -> Done:
    return zonelab_here("plot", *map(str, words), cwd=cwd)


@pytest.mark.parametrize("format_", list(Format))
def test_every_format_is_written_here_under_the_name_of_its_kind(format_: Format, run: Path, tmp_path: Path) -> None:
    done = plot(run, "--kind", "depth", "--format", format_, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"depth.{format_}\n")
    assert (tmp_path / f"depth.{format_}").read_bytes().startswith(_BEGINS[format_])


def test_the_ending_of_out_decides_the_format_and_json_names_the_file(run: Path, tmp_path: Path) -> None:
    done = plot(run, "--kind", "loss", "--out", "new/figure-3.svg", "--width", 3.5, "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == {"plot": "new/figure-3.svg"}
    assert (tmp_path / "new" / "figure-3.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--kind", "histogram"), f"'histogram' is not one of {', '.join(map(repr, map(str, PlotKind)))}"),
        (("--kind", "loss", "--format", "gif"), "'gif' is not one of 'png', 'svg', 'pdf'"),
        (("--kind", "loss", "--out", "x.gif"), "--out x.gif: no format .gif; accepted: png, svg, pdf"),
        (("--kind", "loss", "--out", "x.png", "--format", "pdf"), "--out x.png: is no pdf; leave out --format"),
        (("--kind", "loss", "--by", "zone"), "--by zone: no such setting of these runs; accepted: level, seed"),
        (("--kind", "loss", "--width", "1"), "Input should be greater than or equal to 3, got '1'"),
        ((), "Missing option '--kind'. Choose from: latency, quantiles"),
    ],
)
def test_what_is_not_accepted_is_one_line_with_what_is(
    words: tuple[str, ...], told: str, run: Path, tmp_path: Path
) -> None:
    done = plot(run, *words, cwd=tmp_path)
    assert done.returncode == 64
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_data_of_the_kind_ends_with_3(tmp_path: Path) -> None:
    empty = RunBuilder(tmp_path / "empty").write()
    done = plot(empty, "--kind", "quantiles", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"zonelab: {empty}: no completed operations: nothing to draw\n"


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    done = plot("nowhere", "--kind", "loss", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (64, "zonelab: nowhere: no such run directory\n")

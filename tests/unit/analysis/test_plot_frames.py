"""Goal: figures of every kind can be read: no text covers another, at any width, and files are equal for equal input.

Method: draw each kind wide and as narrow as a column, compute where every text is; a planted overlap is found.
"""

import os
import subprocess
import sys
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from support.analysis.accesses import Story
from support.analysis.figures import emptiest, kept_figures, overlaps
from support.analysis.runs import eventful_run

from zonelab.analysis.figures import plot_style
from zonelab.analysis.figures.draw import draw
from zonelab.analysis.figures.kinds.names import Format, PlotKind
from zonelab.analysis.figures.text_layout import width_points, wrapped
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.workloads import WorkloadKind

COLUMN_INCHES = 3.5
LEVELS = ("DC_ONE", "DC_QUORUM", "DC_SAFE_QUORUM", "DC_EACH_SAFE_QUORUM")


@pytest.fixture(scope="module")
def queue_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run a level, with faults whose names are long and many."""
    folder, runs = tmp_path_factory.mktemp("levels"), []
    for level in LEVELS:
        run = eventful_run(folder / level, level=level)
        for number in range(5):
            run.fault("coordinator_crash", f"eu-west-1{'abc'[number % 3]}", begin_ms=1_500 * number, end_ms=None)
        runs.append(run.write(git_commit="0123456789abcdef"))
    return runs


@pytest.fixture(scope="module")
def register_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, runs = tmp_path_factory.mktemp("registers"), []
    for zone in ("a", "b"):
        story = Story(WorkloadKind.REGISTER).write("x", 0).write("y", 20).read("x", 40, zone=zone)
        runs.append(story.directory(folder / zone))
    return runs


@pytest.mark.parametrize("kind", list(PlotKind))
@pytest.mark.parametrize(("several", "width"), [(False, plot_style.WIDTH), (True, COLUMN_INCHES)])
def test_no_text_covers_another_and_all_are_within_the_figure(
    kind: PlotKind,
    several: bool,
    width: float,
    queue_runs: list[Path],
    register_runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    figures = kept_figures(monkeypatch)
    runs = register_runs if kind is PlotKind.STALENESS else queue_runs
    draw(runs if several else runs[:1], kind, tmp_path / "x.png", width=width)
    assert overlaps(figures["x.png"]) == []
    assert figures["x.png"].get_figwidth() <= width
    assert max(emptiest(figures["x.png"])) <= 0.3


def test_a_page_with_room_for_nothing_is_found() -> None:
    figure, _ = plot_style.new_figure(width=COLUMN_INCHES)
    plot_style.frame(figure, "Little", "about", notes=["note"])
    figure.draw_without_rendering()
    assert max(emptiest(figure)) <= 0.3
    figure.set_figheight(2 * figure.get_figheight())
    figure.draw_without_rendering()
    assert emptiest(figure)[1] > 0.3


def test_a_text_on_another_or_outside_is_found() -> None:
    figure, (axis,) = plot_style.new_figure(width=COLUMN_INCHES)
    axis.set_xlim(0, 1)
    axis.text(0.5, 0.5, "kill b")
    assert overlaps(figure) == []
    axis.text(0.52, 0.5, "lag a>c")
    figure.text(0.95, 0.4, "much too long to be read")
    assert set(overlaps(figure)) == {"'kill b' on 'lag a>c'", "'much too long to be read' outside"}


def test_words_are_wrapped_to_the_width_and_none_is_lost() -> None:
    text = "eu-west-1a and an_identifier_that_is_longer_than_the_line_itself, and more"
    for weight in ("normal", "bold"):
        lines = wrapped(text, inches=1, size=8, weight=weight).split("\n")
        assert max(width_points(line, size=8, weight=weight) for line in lines) <= 72
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("inches", [0.01, 0.2, 0.5, 1.0, 3.0])
def test_a_line_has_as_many_words_or_letters_as_it_has_room_for(inches: float) -> None:
    words = ["a", "bb", "an_identifier_that_is_long", "ccc", "i", "WWWWWWWWWW", "d"]
    lines = wrapped("  ".join(words), inches=inches, size=8).split("\n")
    ends, letters = set(accumulate(map(len, words))), 0
    for line, after in pairwise(lines):
        letters += len(line.replace(" ", ""))
        cut = letters not in ends
        longer = line + after[0] if cut else f"{line} {after.split(' ')[0]}"
        assert width_points(longer, size=8) > 72 * inches
        assert len(line) == 1 or width_points(line, size=8) <= 72 * inches


def test_equal_input_makes_equal_files_whatever_the_process(queue_runs: list[Path], tmp_path: Path) -> None:
    words = "import sys; from pathlib import Path; from zonelab.analysis.figures.draw import draw; "
    words += "from zonelab.analysis.figures.kinds.names import PlotKind; run, *files = map(Path, sys.argv[1:]); "
    words += "[draw([run], PlotKind.LATENCY, file) for file in files]"
    here, there = ([tmp_path / f"{name}.{format_}" for format_ in Format] for name in ("here", "there"))
    for file in here:
        draw(queue_runs[:1], PlotKind.LATENCY, file)
    subprocess.run(
        [sys.executable, "-c", words, queue_runs[0], *there],
        check=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "HOME": str(tmp_path)},
    )
    unlike = [one.name for one, other in zip(here, there, strict=True) if one.read_bytes() != other.read_bytes()]
    assert unlike == []


def test_text_in_vector_files_is_text_and_its_font_is_in_the_pdf(queue_runs: list[Path], tmp_path: Path) -> None:
    svg = draw(queue_runs[:1], PlotKind.RATE, tmp_path / "x.svg").read_text(encoding="utf-8")
    assert ">Rate over time</text>" in svg
    pdf = draw(queue_runs[:1], PlotKind.RATE, tmp_path / "x.pdf").read_bytes()
    assert b"/FontFile2" in pdf  # TrueType
    assert b"/Type3" not in pdf


def test_lines_differ_in_print_without_colour(
    queue_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = kept_figures(monkeypatch)
    draw(queue_runs, PlotKind.RATE, tmp_path / "x.png")
    drawn = [line for line in figures["x.png"].axes[1].lines if "DC_" in str(line.get_label())]
    assert len({(line.get_linestyle(), line.get_marker()) for line in drawn}) == len(drawn) == 2 * len(LEVELS)


def test_many_seeds_are_counted_and_not_listed(tmp_path: Path) -> None:
    runs = [RunDirectory.open(eventful_run(tmp_path / str(seed), seed=seed).write()) for seed in range(7)]
    figure, _ = plot_style.new_figure()
    assert isinstance(figure, Figure)
    plot_style.title(figure, "Seeds", runs, sample="n = 7")
    assert any("7 seeds from 0 to 6" in text.get_text() for text in figure.texts)

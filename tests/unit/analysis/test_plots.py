"""Goal: figures are drawn for every run, ordinary or odd, and show what they say. Method: draw, then inspect the
files and the figure objects.
"""

import struct
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from support.analysis.accesses import Story
from support.analysis.figures import kept_figures
from support.analysis.runs import differing_zones, eventful_run

from zonelab.analysis.figures import plot_style, plots
from zonelab.analysis.figures.plot_data import completions, drawn_points, window_s, windowed_quantiles
from zonelab.analysis.figures.plots import plot_comparison, plot_run
from zonelab.analysis.figures.rate_plot import plot_rates, rates
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.workloads import WorkloadKind

LEVELS = ("DC_ONE", "DC_QUORUM", "DC_SAFE_QUORUM")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    return kept_figures(monkeypatch)


def size(path: Path) -> tuple[int, int]:
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", header[16:24])


def texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(match=lambda part: hasattr(part, "get_text")))


def test_a_run_gets_five_figures_with_titles_units_and_sample_sizes(tmp_path: Path, figures: dict[str, Figure]) -> None:
    run = eventful_run(tmp_path / "run", level="DC_ONE", seed=42).write(git_commit="0123456789abcdef")
    paths = plot_run(run)
    assert [path.relative_to(run).as_posix() for path in paths] == [
        "plots/latency.png",
        "plots/latency-cdf.png",
        "plots/lateness.png",
        "plots/depth.png",
        "plots/rates.png",
    ]
    for path in paths:
        width, height = figures[path.name].get_size_inches() * plot_style.DPI
        assert (width >= 1_000, height >= 500) == (True, True), path
        said = texts(figures[path.name])
        for part in ("eventful", "DC_ONE", "seed 42", "zonelab 0.1.0 (0123456789)", "n = "):
            assert part in said, (path.name, part)
    assert "latency (ms)" in texts(figures["latency.png"])
    assert "run time (s)" in texts(figures["depth.png"])


def test_lines_of_equal_latency_lie_in_one_place_and_an_empty_queue_is_counted_in_messages(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    """The axis is not that of differences between 0.01 and its nearest number of 32 bits, or of hundredths."""
    builder = RunBuilder(tmp_path / "run")
    for number in range(9):
        builder.push(f"m{number}", at_ms=100 * number, took_ms=0)
        builder.depth("a", at_ms=100 * number, waiting=0, leased=0)
    plot_run(builder.write())
    low, high = figures["latency.png"].axes[0].get_ylim()
    assert high / low >= 1.99
    assert [axis.get_ylim() for axis in figures["depth.png"].axes] == [(0, 1), (0, 1)]


def test_a_zone_has_one_colour_in_all_figures_of_a_run(tmp_path: Path, figures: dict[str, Figure]) -> None:
    """Zones before it may have nothing to show, and none has the colour of an outcome."""
    builder = RunBuilder(tmp_path / "run")
    for zone in "abc":
        builder.push(f"of-{zone}", at_ms=1, zone=zone)
        builder.depth(zone, at_ms=1, waiting=1, leased=0)
    for zone in "bc":
        builder.pop(f"of-{zone}", at_ms=20, zone=zone)
    plot_run(builder.write())
    found: dict[str, set[str]] = {}
    for name in ("latency-cdf.png", "lateness.png", "depth.png"):
        for line in figures[name].findobj(Line2D):
            if (label := str(line.get_label())).startswith("zone "):
                found.setdefault(label, set()).add(str(line.get_color()))
    assert {label: len(colours) for label, colours in found.items()} == {"zone a": 1, "zone b": 1, "zone c": 1}
    assert not set().union(*found.values()) & set(plot_style.TYPE_COLOURS.values())


def test_faults_are_shaded_in_their_colour_with_their_name(tmp_path: Path, figures: dict[str, Figure]) -> None:
    plot_run(eventful_run(tmp_path / "run").write())
    for name in ("latency.png", "depth.png"):
        assert "kill b" in texts(figures[name])
        colours = {patch.get_facecolor()[:3] for axis in figures[name].axes for patch in axis.patches}
        assert {tuple(round(part, 3) for part in colour) for colour in colours} == {
            (0.835, 0.369, 0.0),
            (0, 0.447, 0.698),
        }


def test_labels_of_faults_cover_nothing_and_none_of_each_other(tmp_path: Path, figures: dict[str, Figure]) -> None:
    """Many at once, with names as people have them, the last of them at the very end."""
    run = eventful_run(tmp_path / "run")
    for number in range(12):
        target = f"eu-west-1{'abc'[number % 3]}"
        run.fault("coordinator_crash", target, begin_ms=400 * number, end_ms=400 * number + 1_000)
    run.fault("producer_crash", "producer-eu-west-1a", begin_ms=6_900, end_ms=None)
    plot_run(run.write())
    for name in ("latency.png", "depth.png"):
        figures[name].draw_without_rendering()
        strip, *panels = figures[name].axes
        boxes = [text.get_window_extent() for text in strip.texts]
        assert len(boxes) >= 14
        assert [(one, two) for one, two in combinations(boxes, 2) if one.overlaps(two)] == []
        assert min(box.y0 for box in boxes) > max(panel.get_window_extent().y1 for panel in panels)
        assert max(box.x1 for box in boxes) <= figures[name].bbox.x1


def test_a_strip_of_faults_without_room_says_how_many_are_left_out(tmp_path: Path, figures: dict[str, Figure]) -> None:
    run = eventful_run(tmp_path / "run")
    for _ in range(20):
        run.fault("kill", "b", begin_ms=100, end_ms=200)
    plot_run(run.write())
    assert "of 22 have no room here" in texts(figures["latency.png"])


def test_a_zone_that_did_not_answer_leaves_a_gap(tmp_path: Path, figures: dict[str, Figure]) -> None:
    plot_run(eventful_run(tmp_path / "run").write())
    lines = {line.get_label(): line.get_ydata() for line in figures["depth.png"].axes[1].lines}
    assert np.isnan(np.asarray(lines["zone b"], dtype=float)).sum() == 6
    assert not np.isnan(np.asarray(lines["zone a"], dtype=float)).any()


def test_points_are_bounded_and_the_figure_says_so(
    tmp_path: Path, figures: dict[str, Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "POINTS_MAX", 20)
    plot_run(eventful_run(tmp_path / "run").write())
    clouds = [cloud for axis in figures["latency.png"].axes for cloud in axis.collections]
    assert max(len(cloud.get_offsets()) for cloud in clouds) <= 20
    assert "push: of ok points are drawn one in 10 of 97, and the longest" in texts(figures["latency.png"]).replace(
        "\n", " "
    )


def test_a_comparison_has_a_line_and_a_bar_for_every_level_in_its_colour(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    runs = [eventful_run(tmp_path / level, level=level).write() for level in LEVELS]
    paths = plot_comparison(runs, tmp_path / "compared")
    assert [path.name for path in paths] == ["duplicates-and-losses.png", "latency-cdf.png", "lateness.png"]
    for figure in (figures["latency-cdf.png"], figures["lateness.png"]):
        solid = {line.get_label(): line.get_color() for line in figure.axes[0].lines if "DC_" in str(line.get_label())}
        assert [str(name).split()[0] for name in solid] == list(LEVELS)
        assert list(solid.values()) == [plot_style.LEVEL_COLOURS[level] for level in LEVELS]
    bars = [bar.get_height() for bar in figures["duplicates-and-losses.png"].axes[1].patches]
    assert len(bars) == 9
    assert min(bars) > 0


def test_runs_of_one_level_are_told_apart(tmp_path: Path) -> None:
    runs = [RunDirectory.open(eventful_run(tmp_path / name).write()) for name in ("one", "two")]
    assert plots.labels(runs) == ["DC_QUORUM one", "DC_QUORUM two"]


def test_an_empty_run_can_be_drawn(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run").write()
    paths = plot_run(run)
    assert len(paths) == 5
    assert all(size(path)[0] >= 1_000 for path in paths)
    assert len(plot_comparison([run], tmp_path / "compared")) == 3


def test_rates_are_per_second_by_outcome_and_add_up_to_every_operation(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    run = RunBuilder(tmp_path / "run", load_ms=2_000)
    for number in range(40):
        run.push(f"m{number}", at_ms=50 * number, outcome="fail" if 20 <= number < 25 else "ok")
    run.push("late", at_ms=1_999.5, took_ms=0.5, outcome="info", error="Indeterminate: no quorum")
    directory = RunDirectory.open(run.write())
    data = completions(directory)
    found = rates(data["push"], length_s=2.0, width_s=0.5)
    assert {kind: per_s.tolist() for kind, (_, per_s) in found.items()} == {
        "ok": [20, 20, 10, 20],
        "fail": [0, 0, 10, 0],
        "info": [0, 0, 0, 2],
    }
    plot_rates(directory, data)
    assert "per second" in texts(figures["rates.png"])
    assert "kill" not in texts(figures["rates.png"])


@pytest.mark.parametrize(("length_s", "width_s"), [(0.9, 0.02), (14.3, 0.5), (60, 1), (90, 2), (3_600, 100)])
def test_windows_are_round_and_about_sixty(length_s: float, width_s: float) -> None:
    assert window_s(length_s) == pytest.approx(width_s)


def test_quantiles_by_window_are_those_of_its_values_and_a_window_without_any_is_a_gap() -> None:
    time_s, values = np.array([0.1, 2.9, 2.1, 0.2]), np.array([1.0, 10.0, 20.0, 3.0])
    middle_s, (p50,) = windowed_quantiles(time_s, values, (0.5,), width_s=1.0)
    np.testing.assert_array_equal(middle_s, [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(p50, [2.0, np.nan, 15.0])


def test_no_line_of_latency_goes_through_an_outage(tmp_path: Path, figures: dict[str, Figure]) -> None:
    run = RunBuilder(tmp_path / "run", load_ms=6_000)
    for at_ms in [*range(0, 2_000, 50), 3_000, *range(4_000, 6_000, 50)]:
        run.push(f"m{at_ms}", at_ms=at_ms, took_ms=5)
    plot_run(run.write())
    lines = {one.get_label(): one for one in figures["latency.png"].axes[0].lines}
    middle_s, p50 = (np.asarray(values, dtype=float) for values in lines["p50"].get_data())
    gaps = middle_s[np.isnan(p50)]
    assert (gaps.min(), gaps.max()) == (pytest.approx(2.05, abs=0.1), pytest.approx(3.95, abs=0.1))
    assert lines["_alone, p50"].get_xdata() == pytest.approx([3.0], abs=0.2)


def test_the_distribution_has_a_panel_for_whatever_clients_did(tmp_path: Path, figures: dict[str, Figure]) -> None:
    story = Story(WorkloadKind.REGISTER).write("x", 0).write("y", 20).read("x", 31, client=2)
    plots.plot_accesses(story.directory(tmp_path / "registers"))
    panels = [axis.get_title(loc="left") for axis in figures["latency-cdf.png"].axes]
    assert panels == ["read, n = 1", "write, n = 2"]


def test_outcomes_and_zones_share_no_colour() -> None:
    zones = {plot_style.colour_of_zone(position) for position in range(26)}
    assert not zones & set(plot_style.TYPE_COLOURS.values())


def test_the_points_that_are_drawn_are_bounded_and_keep_every_extreme(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    for number in range(1_000):
        run.push(f"m{number}", at_ms=10 * number, took_ms={333: 900.0, 777: 0.001}.get(number, 5 + number % 3))
    pushes = completions(RunDirectory.open(run.write()))["push"]
    chosen, words = drawn_points(pushes, at_most=100)
    assert (len(chosen) <= 100, len(set(chosen.tolist())) == len(chosen)) == (True, True)
    shown = pushes.service_ms[chosen]
    assert (shown.max(), shown.min()) == (pushes.service_ms.max(), pushes.service_ms.min())
    assert words == "one in 20 of 1,000, and the longest and the shortest of each of 25 parts of the time"
    chosen, words = drawn_points(pushes, at_most=1_000)
    assert (len(chosen), words) == (1_000, "")
    chosen, words = drawn_points(pushes, at_most=4)
    assert pushes.service_ms[chosen].max() == pushes.service_ms.max()
    assert words == "one in 500 of 1,000, and the longest and the shortest of each of 1 parts of the time"


@pytest.mark.parametrize(("far_ms", "lines"), [(80, ["p50 of zone a", "p50 of zone b"]), (6, [])])
def test_latency_over_time_has_a_line_a_zone_where_zones_differ(
    far_ms: float, lines: list[str], tmp_path: Path, figures: dict[str, Figure]
) -> None:
    plot_run(differing_zones(tmp_path / "run", far_ms=far_ms))
    drawn = [str(line.get_label()) for line in figures["latency.png"].axes[0].get_lines()]
    assert [label for label in drawn if "zone" in label] == lines


def test_zones_that_differ_in_acks_alone_are_in_the_legend(tmp_path: Path, figures: dict[str, Figure]) -> None:
    run = RunBuilder(tmp_path / "run", load_ms=2_000)
    for number in range(20):
        for zone, took_ms in (("a", 5.0), ("b", 80.0)):
            run.push(f"{zone}{number}", at_ms=90 * number, zone=zone)
            popped = run.pop(f"{zone}{number}", at_ms=90 * number + 5, zone=zone)
            run.ack(f"{zone}{number}", popped, at_ms=90 * number + 9, took_ms=took_ms, zone=zone)
    plot_run(run.write())
    (legend,) = figures["latency.png"].legends
    assert {"p50 of zone a", "p50 of zone b"} < {text.get_text() for text in legend.get_texts()}


def test_dollars_in_names_are_dollars(tmp_path: Path, figures: dict[str, Figure]) -> None:
    name = r"from $\frac$ to $1"
    runs = []
    for level in LEVELS:
        run = eventful_run(tmp_path / level, level=f"{level} {name}")
        run.scenario = name
        run.fault("kill", name, begin_ms=400, end_ms=1_000)
        runs.append(run.write())
    plot_run(runs[0])
    plot_comparison(runs, tmp_path)
    for path, figure in figures.items():
        figure.draw_without_rendering()
        assert name in texts(figure).replace("\n", " "), path

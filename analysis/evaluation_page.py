"""The page of an evaluation: the answer, why, and figures; made of nothing but ``evaluate.json``."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zonelab.analysis.figures.evaluation_plot import plot_bounds, plot_flips, plot_push
from zonelab.analysis.pages import environment
from zonelab.analysis.report import image_of
from zonelab.analysis.whole_files import write_whole

PAGE_NAME = "report.html"

_WORDS = {0: "valid", 1: "invalid", 2: "unknown"}
_TONES = {
    **dict.fromkeys(("met", "confirmed"), "valid"),
    **dict.fromkeys(("not met", "not confirmed"), "invalid"),
    **dict.fromkeys(("open", "not decided", "not confirmable"), "unknown"),
}


def write_evaluation_page(shown: Mapping[str, Any], folder: Path) -> Path:
    """Write ``report.html`` of what ``evaluate.json`` has into ``folder``. Raises ``OSError``."""
    with TemporaryDirectory(prefix="zonelab-evaluate-") as made:
        images = [
            image_of(plot_bounds(shown, Path(made) / "bounds.png"), "How far each setting is from each bound"),
            image_of(plot_push(shown, Path(made) / "push.png"), "Percentiles of pushes of every setting"),
        ]
        alt = "Values of single inputs at which the answer becomes another one"
        flips = image_of(plot_flips(shown, Path(made) / "flips.png"), alt) if shown["flips"] else None
    template = environment().get_template("evaluation.html")
    made_of = {"told": shown, "word": _WORDS[shown["exit_code"]], "tones": _TONES, "images": images, "flips": flips}
    return write_whole(folder / PAGE_NAME, template.render(title=f"{shown['scenario']}: which setting", **made_of))

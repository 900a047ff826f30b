"""Kinds of plots that ``zonelab plot`` draws: a new plot begins here. Loads nothing, so that ``--help`` is quick."""

from enum import StrEnum


class PlotKind(StrEnum):
    """The kind of a figure: what it shows of runs."""

    LATENCY = "latency"
    QUANTILES = "quantiles"
    RATE = "rate"
    LATENESS = "lateness"
    DEPTH = "depth"
    STALENESS = "staleness"
    DUPLICATES = "duplicates"
    LOSS = "loss"


class Format(StrEnum):
    """The file format of a figure."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


class NotDrawable(ValueError):
    """The requested figure cannot be made of these runs. The message is one line and says what can."""

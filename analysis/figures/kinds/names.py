"""The figures that ``zonelab plot`` draws, by name; loads nothing, so that the command line can list them."""

from enum import StrEnum


class PlotKind(StrEnum):
    """What a figure shows of runs."""

    LATENCY = "latency"
    QUANTILES = "quantiles"
    RATE = "rate"
    LATENESS = "lateness"
    DEPTH = "depth"
    STALENESS = "staleness"
    DUPLICATES = "duplicates"
    LOSS = "loss"


class Format(StrEnum):
    """What a figure is written as."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


class NotDrawable(ValueError):
    """What was asked for is no figure of these runs. The message is one line and says what would be."""

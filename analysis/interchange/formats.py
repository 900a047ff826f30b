"""Formats of other tools, and the file that an export in each of them has."""

from enum import StrEnum


class ExportFormat(StrEnum):
    """The format of an export."""

    PERFETTO = "perfetto"
    OTLP = "otlp"
    JEPSEN = "jepsen"
    PORCUPINE = "porcupine"
    CSV = "csv"


class HistoryFormat(StrEnum):
    """The format of a file that is judged."""

    EVENTS = "events"
    JEPSEN = "jepsen"
    PORCUPINE = "porcupine"

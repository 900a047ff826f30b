"""Verdicts as JUnit XML, which servers of continuous integration read: ``--junit FILE`` of every verb that judges.

There is no standard. This is what the servers have in common: ``testsuites``, one ``testsuite`` a verb, and in it a
``testcase`` for each thing that was judged, with ``failure``, ``error`` or ``skipped`` inside if it did not pass.
"""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Self

from zonelab.analysis.whole_files import whole
from zonelab.scenarios.errors import NotAccepted

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NOT_IN_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""XML 1.0 (section 2.2) has no place for these, not even as a reference.

Compiled when it is used, as that takes longer than all else that this module does at its import.
"""


class Outcome(StrEnum):
    """The name of the element that says it; ``failure``: what must not happen did; ``error``: nobody can tell."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True, slots=True)
class JUnitCase:
    """One thing that was judged. ``group`` is under what servers list it; the first line of ``text`` is its heading."""

    group: str
    name: str
    outcome: Outcome = Outcome.PASSED
    text: str = ""

    @classmethod
    def of(cls, group: str, name: str, outcome: Outcome, *lines: str) -> Self:
        """Return a case of ``outcome`` with ``lines`` as its text; it passed if there are none."""
        text = "\n".join(lines)
        return cls(group=group, name=name, outcome=outcome if text else Outcome.PASSED, text=text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """Suite of a verb's judgements; ``command`` repeats them."""

    verb: str
    command: str
    cases: Sequence[JUnitCase]


@dataclass(frozen=True, slots=True)
class JUnitFile:
    """File of a verb's suite, and the time at which the verb began."""

    path: Path
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    began_s: float = field(default_factory=time.monotonic)

    @classmethod
    def begin(cls, text: str) -> Self:
        """Begin the file ``text``: what a verb of before left there goes, lest it be taken for what this one found.

        Raises ``NotAccepted`` if it cannot be written, and ``OSError``.
        """
        path = Path(text)
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise NotAccepted(f"--junit: got {text}; accepted: a file in a folder that is there and can be written")
        path.unlink(missing_ok=True)
        return cls(path)

    def write(self, suite: Suite) -> None:
        """Write the file whole or not at all. Raises ``OSError``."""
        from xml.etree.ElementTree import ElementTree, indent

        tree = ElementTree(self._tree(suite))
        indent(tree)
        with whole(self.path) as partial:
            tree.write(partial, encoding="utf-8", xml_declaration=True)

    def _tree(self, suite: Suite) -> "Element":
        from xml.etree.ElementTree import Element, SubElement

        counted = {
            name: str(sum(case.outcome is outcome for case in suite.cases))
            for name, outcome in (
                ("failures", Outcome.FAILURE),
                ("errors", Outcome.ERROR),
                ("skipped", Outcome.SKIPPED),
            )
        }
        figures = {"tests": str(len(suite.cases)), **counted, "time": f"{time.monotonic() - self.began_s:.3f}"}
        whole = Element("testsuites", figures)
        shown = SubElement(
            whole,
            "testsuite",
            {"name": f"zonelab {_xml(suite.verb)}", "timestamp": f"{self.began:%Y-%m-%dT%H:%M:%S}", **figures},
        )
        properties = SubElement(shown, "properties")
        SubElement(properties, "property", {"name": "command", "value": _xml(suite.command)})
        for case in suite.cases:
            element = SubElement(shown, "testcase", {"classname": _xml(case.group), "name": _xml(case.name)})
            if case.outcome is not Outcome.PASSED:
                text = _xml(case.text)
                detail = SubElement(element, case.outcome, {"message": text.partition("\n")[0]})
                detail.text = text
        return whole


def _xml(text: str) -> str:
    """``text`` with what XML cannot have written out, such as ``\\x1b``; what it can have is escaped when written."""
    return re.sub(_NOT_IN_XML, lambda found: found[0].encode("unicode_escape").decode(), text)


def file_in(arguments: Sequence[str]) -> JUnitFile | None:
    """The file that a command line names; None if it names none."""
    for index, word in enumerate(arguments):
        if word == "--junit":
            return JUnitFile(Path(arguments[index + 1])) if index + 1 < len(arguments) else None
        if word.startswith("--junit="):
            return JUnitFile(Path(word.partition("=")[2]))
    return None

"""Judging drawn mutants: each against the tests that reach it, then simulated runs, then the table of hashes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from mutants.copies import Copy
from mutants.drawn.sites import Site, fingerprint
from mutants.reach import Reach
from mutants.simulated import RUN, Simulations
from mutants.trials import run_tests

TESTS_S = 60.0
"""The fastest covering tests are chosen until they take so long without a mutant."""

HANGS_S = 60
"""A test that takes longer hangs, and so has noticed the mutant."""

STARTING_S = 60.0
"""Time to start a process of tests and to collect them, on a busy machine."""

HASHES, UNIT = "tests/hashes/", "tests/unit/"
SEEDS = 60


class Fate(StrEnum):
    """What became of a mutant. ``HASHES_ALONE``: only the table of hashes differs, which notices any change."""

    TEST = "test"
    RUN = "run"
    HASHES_ALONE = "hashes alone"
    SURVIVED = "survived"
    UNREACHED = "reached by marked tests only, if any"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """``killer``: the test or run that noticed; empty if none did. ``source``: the fingerprint of the mutated file."""

    id: str
    operator: str
    package: str
    fate: Fate
    killer: str
    source: str


class Results:
    """What was found so far, a line of JSON each, so that an interrupted invocation resumes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        told = [json.loads(line) for line in lines if line.endswith("}")]
        self.found = {one["id"]: Found(**{**one, "fate": Fate(one["fate"])}) for one in told}

    def of(self, site: Site, root: Path) -> Found | None:
        """The result of ``site``, if it is one of the file as it is now."""
        found = self.found.get(site.mutant.id)
        return found if found is not None and found.source == fingerprint(site, root) else None

    def is_open(self, site: Site, root: Path, *, again: bool) -> bool:
        """Return whether nothing is known of ``site``; ``again``: or that it lives."""
        found = self.of(site, root)
        return found is None or (again and found.fate not in (Fate.TEST, Fate.RUN))

    def add(self, found: Found) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            self.found[found.id] = found
            file.write(json.dumps(asdict(found)) + "\n")


class DrawnTrials:
    """Judges sites in copies of the project, one mutant a copy at a time.

    ``newer``: tests of which ``reach`` knows nothing; each mutant is tried against those of its package, and against
    those that belong to none, such as properties.
    """

    def __init__(
        self, copies: Sequence[Copy], reach: Reach, simulations: Simulations, *, newer: Sequence[str] = ()
    ) -> None:
        self._newer = newer
        self._copies = copies
        self._reach = reach
        self._simulations = simulations

    def judge(self, sites: Sequence[Site]) -> Iterator[Found]:
        """What became of each, in the order given."""
        idle: SimpleQueue[Copy] = SimpleQueue()
        for copy in self._copies:
            idle.put(copy)

        def judged(site: Site) -> Found:
            copy = idle.get()
            try:
                with copy.planted(site.mutant):
                    return self._judged(site, copy)
            finally:
                idle.put(copy)

        with ThreadPoolExecutor(len(self._copies)) as pool:
            try:
                yield from pool.map(judged, sites)
            except BaseException:
                self._copies[0].processes.end_all()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _judged(self, site: Site, copy: Copy) -> Found:
        tests = self._reach.tests_of(site.mutant, copy.root)
        ordinary = [test for test in tests if not test.startswith(HASHES)]
        hashed = [test for test in tests if test.startswith(HASHES)]
        fate, killer = Fate.TEST, self._killing_test(self._fastest(ordinary), copy)
        if not killer:
            killer = self._killing_test(self._newer_near(site.package), copy)
        if not killer:
            fate, killer = Fate.RUN, self._simulations.noticed_by(site.mutant, copy, seeds=SEEDS) or ""
        if not killer:
            fate, killer = Fate.HASHES_ALONE, self._killing_test(self._fastest(hashed), copy)
        if not killer:
            reached = tests or self._simulations.reaches(site.mutant, copy)
            fate = Fate.SURVIVED if reached else Fate.UNREACHED
        return Found(
            id=site.mutant.id,
            operator=site.operator,
            package=site.package,
            fate=fate,
            killer=killer.removeprefix(RUN) if fate is Fate.RUN else killer,
            source=fingerprint(site, copy.root),
        )

    def _newer_near(self, package: str) -> list[str]:
        own = f"{UNIT}{package}/"
        return [test for test in self._newer if test.startswith(own) or not test.startswith(UNIT)]

    def _fastest(self, tests: Sequence[str]) -> list[str]:
        return _fastest(tests, self._reach.seconds)

    def _killing_test(self, chosen: Sequence[str], copy: Copy) -> str:
        if not chosen:
            return ""
        options = (f"--timeout={HANGS_S}", "--timeout-method=signal")
        run = run_tests(copy, chosen, first_failure=True, timeout_s=STARTING_S + 5 * TESTS_S, options=options)
        if run.passed:
            return ""
        return next(iter(run.failed), run.running or "the tests end before they begin")


def _fastest(tests: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    chosen: list[str] = []
    total_s = 0.0
    for test in tests:
        total_s += seconds[test]
        if total_s > TESTS_S and chosen:
            break
        chosen.append(test)
    return chosen

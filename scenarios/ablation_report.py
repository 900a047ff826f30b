"""The ablation table on the terminal, as a page of the documentation, and as JSON."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from analysis.checkers.verdict import MessageClass
from analysis.statistics import proportion_interval
from scenarios.ablation import EACH_OFF, WATCHED, Ablations, ablate, places_of
from scenarios.campaign import RunBar, effort, markdown_rows, print_rows, provenance
from scenarios.mechanisms import NOT_NEEDED, WITHOUT
from scenarios.studies.ablated_queue import Ablation
from scenarios.studies.ablation_costs import Cost

_HEADINGS = (
    "switched off",
    "failing per 1,000 seeds (95 %)",
    "with it on",
    "by class, per 1,000 seeds",
    "redelivered per 1,000 (on)",
    "latest, ms (on)",
    "overtaken per 1,000 seeds (on)",
    "verdict",
)

_PAGE = """# What each safety mechanism is good for

{provenance}{interrupted}

Each mechanism of the dyno queue, and each of its hardened mode (docs/hardened.md), is switched off in simulation, and
the same runs are made with it and without: equal seeds, equal load, equal faults. A row has {seeds} seeds, dealt out to
the faults and levels that the mechanism is against; docs/guarantees.md describes the faults.

- *failing*: seeds with any forbidden class (in hardened mode also `zombie_ack`: an ack that came too late succeeds),
  with the 95 % interval (Clopper-Pearson), and the same with it on. A zone that was restarted has messages stuck with
  every mechanism of the original on.
- *redelivered*: deliveries beyond the first for 1,000 messages delivered.
- *latest*: how late the latest first delivery of a run was, on average over the runs.
- *overtaken*: messages that waited, due and confirmed, while a less urgent one of their shard was delivered by an
  earlier pop.
- *detected*: a class has more cases with the mechanism off than on, in so many more pairs of runs than the other way
  round that chance would do this in less than 5 % of such tables (one-sided sign test, Bonferroni). *Dearer*: the same
  of one of the three numbers before it (*late* is the latest).

{table}

## Without it

{mechanisms}

## Not detected

{undetected}

## Not in the table

What the options of the replication layer are good for, read repair among them, is on a page of its own:
docs/replication-options.md. What an ack remembers of its interrupted predecessor and what concurrent pops of one queue
object claim are not switched off: consumers of a scenario neither repeat an ack nor share an object, so nothing here
would show it; unit tests of the engine do.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class AblationReport:
    ablations: Ablations
    command: str
    took_s: float

    def print(self) -> None:
        print_rows(_HEADINGS, self._rows(), self._sentences())

    def page(self) -> str:
        ablations = self.ablations
        return _PAGE.format(
            provenance=provenance(self.command, runs=ablations.runs, took_s=self.took_s),
            interrupted="" if ablations.complete else " It was broken off, so the last rows have fewer seeds.",
            seeds=max(result.runs for result in ablations.results.values()),
            table=markdown_rows(_HEADINGS, self._rows()),
            mechanisms="\n".join(f"- **{name}**: {words}." for name, words in WITHOUT.items()),
            undetected="\n".join(f"- {sentence}" for sentence in self._undetected()) or "Nothing.",
        )

    def to_json(self) -> dict[str, Any]:
        ablations = self.ablations
        return {
            "command": self.command,
            "runs": ablations.runs,
            "complete": ablations.complete,
            "took_s": round(self.took_s, 3),
            "rows": [self._json(ablation) for ablation in ablations.results],
        }

    def _json(self, ablation: Ablation) -> dict[str, Any]:
        result = self.ablations.results[ablation]
        interval = proportion_interval(result.failed_runs, result.runs)
        return {
            "off": list(ablation.off),
            "runs": result.runs,
            "failing": result.failed_runs,
            "failing_with_it_on": result.failed_twins,
            "where": [[place.fault_class, place.level] for place in places_of(ablation)],
            "share": {"low": interval.low, "high": interval.high},
            "classes": {
                str(name): {
                    "failing": result.failing_runs(name),
                    "worse": result.worse.get(name, 0),
                    "better": result.better.get(name, 0),
                }
                for name in WATCHED
                if name in result.failing or name in result.better
            },
            "redelivered_per_1000": result.redelivered_per_1000,
            "redelivered_per_1000_with_it_on": result.twins_redelivered_per_1000,
            "latest_ms": result.mean(Cost.LATE)[0],
            "latest_ms_with_it_on": result.mean(Cost.LATE)[1],
            "overtaken": result.mean(Cost.OVERTAKEN)[0],
            "overtaken_with_it_on": result.mean(Cost.OVERTAKEN)[1],
            "detected": list(self.ablations.detected(ablation)),
            "dearer": list(self.ablations.dearer(ablation)),
            "problems": {str(seed): text for seed, text in result.problems.items()},
        }

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for ablation, result in self.ablations.results.items():
            runs = max(1, result.runs)
            interval = proportion_interval(result.failed_runs, result.runs)
            low, high = 1000 * interval.low, 1000 * interval.high
            overtaken = [1000 * mean for mean in result.mean(Cost.OVERTAKEN)]
            yield (
                ablation.name,
                f"{1000 * result.failed_runs / runs:.0f} ({low:.0f} to {high:.0f})",
                f"{1000 * result.failed_twins / runs:.0f}",
                "; ".join(self._class_words(ablation, name) for name in result.failing) or "none",
                f"{result.redelivered_per_1000:.0f} ({result.twins_redelivered_per_1000:.0f})",
                "{:.0f} ({:.0f})".format(*result.mean(Cost.LATE)),
                "{:.0f} ({:.0f})".format(*overtaken),
                self._verdict(ablation),
            )

    def _verdict(self, ablation: Ablation) -> str:
        detected, dearer = self.ablations.detected(ablation), self.ablations.dearer(ablation)
        words = [f"detected: {', '.join(detected)}"] if detected else []
        words += [f"dearer: {', '.join(dearer)}"] if dearer else []
        return "; ".join(words) or "not detected"

    def _class_words(self, ablation: Ablation, name: MessageClass) -> str:
        result = self.ablations.results[ablation]
        place = result.worst_place(name)
        per_1000 = 1000 * result.failing_runs(name) / result.runs
        return f"{name} {per_1000:.0f} ({place.fault_class}, {place.level})"

    def _sentences(self) -> Iterator[str]:
        ablations = self.ablations
        yield f"{effort(runs=ablations.runs, took_s=self.took_s)}."
        if not ablations.complete:
            yield "Broken off: the first seeds were run for every row, or nearly so."
        yield from self._undetected()

    def _undetected(self) -> Iterator[str]:
        for ablation, result in self.ablations.results.items():
            if self.ablations.detected(ablation):
                continue
            worse, better = (sum(side.get(name, 0) for name in WATCHED) for side in (result.worse, result.better))
            few = f"worse in {worse} and better in {better} comparisons"
            hole = f"{few}: too few seeds, a hole in the tests, or the mechanism is not needed"
            known = " ".join(NOT_NEEDED[mechanism] for mechanism in ablation.off if mechanism in NOT_NEEDED)
            yield f"{ablation.name}, {result.runs} seeds: {known or hole}."


def run_ablations(chosen: Sequence[Ablation], *, runs: int, jobs: int, out: Path | None) -> AblationReport:
    """Run the ``chosen`` ablations, or else ``EACH_OFF``, and write their page to ``out``. Raises ``OSError``."""
    if out is not None:
        out.touch()  # what cannot be written is told before the runs, not after them
    begin_s = monotonic()
    with RunBar("ablations") as bar:
        ablations = ablate(chosen or EACH_OFF, runs=runs, jobs=jobs, told=bar.told)
    words = ["zonelab", "ablate", "--runs", str(runs), "--jobs", str(jobs)]
    words += [word for ablation in chosen for word in ("--off", ",".join(ablation.off))]
    words += ["--out", str(out)] if out else []
    report = AblationReport(ablations=ablations, command=shlex.join(words), took_s=monotonic() - begin_s)
    if out is not None:
        out.write_text(report.page(), encoding="utf-8")
    return report

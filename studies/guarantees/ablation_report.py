"""What each safety mechanism is good for: the columns and the words of the ablation table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.studies.guarantees.ablation import (
    ablation_pairs,
    conditions_of,
    dearer,
    detected,
    redelivered_per_1000,
    watched,
)
from zonelab.studies.guarantees.ablation_costs import Cost
from zonelab.studies.guarantees.mechanisms import ENGINE, NOT_NEEDED, ORDERED, PIPELINED, WITHOUT, Ablation
from zonelab.studies.guarantees.page import effort
from zonelab.studies.guarantees.paired import RowResult
from zonelab.studies.guarantees.paired_report import PairedReport, failing_json, failing_per_1000
from zonelab.studies.guarantees.study_report import RUNS
from zonelab.studies.many_runs.where import HERE, Where

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

{subject} is switched off in simulation, and
the same runs are made with it and without: equal seeds, equal load, equal faults. A row has {seeds} seeds, dealt out to
the faults and levels that the mechanism is against; docs/guarantees.md describes the faults.

- *failing*: seeds {failing}
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

{left_out}
"""

_SUBJECT = {
    **dict.fromkeys(
        (ENGINE, PIPELINED), "Each mechanism of the dyno queue, and each of its hardened mode (docs/hardened.md),"
    ),
    ORDERED: "Each mechanism of fenced partitions (docs/fifo-fenced.md)",
}
_OF_ANOTHER = "Each mechanism of hardened mode (docs/hardened.md)"

_FAILING = """with any forbidden class (in hardened mode also `zombie_ack`: an ack that came too late succeeds),
  with the 95 % interval (Clopper-Pearson), and the same with it on. A zone that was restarted has messages stuck with
  every mechanism of the original on."""
_FAILING_IN_ORDER = """that break a promise of ordered messages (docs/order-verdicts.md) or have a forbidden class, with
  the 95 % interval (Clopper-Pearson), and the same with it on."""

_LEFT_OUT = """What the options of the replication layer are good for, read repair among them, is on a page of its own:
docs/replication-options.md. What an ack remembers of its interrupted predecessor and what concurrent pops of one queue
object claim are not switched off: consumers of a scenario neither repeat an ack nor share an object, so nothing here
would show it; unit tests of the engine do."""
_LEFT_OUT_IN_ORDER = "The parts of a resize, which these runs do not have. docs/fifo-admission.md has them in a model."


@dataclass(frozen=True, kw_only=True, slots=True)
class AblationReport(PairedReport[Ablation]):
    _HEADINGS = _HEADINGS
    _PAGE = _PAGE
    _INTERRUPTED = " It was broken off, so the last rows have fewer seeds."

    def _words(self) -> dict[str, object]:
        engine = self._engine
        ordered = engine == ORDERED
        off = {mechanism for ablation in self.study.rows for mechanism in ablation.off}
        return {
            "subject": _SUBJECT.get(engine, _OF_ANOTHER),
            "failing": _FAILING_IN_ORDER if ordered else _FAILING,
            "left_out": _LEFT_OUT_IN_ORDER if ordered else _LEFT_OUT,
            "mechanisms": "\n".join(f"- **{name}**: {words}." for name, words in WITHOUT.items() if name in off),
            "undetected": "\n".join(f"- {sentence}" for sentence in self._undetected()) or "Nothing.",
        }

    @property
    def _engine(self) -> str:
        return next((ablation.engine for ablation in self.study.rows), ENGINE)

    def _json(self, row: Ablation, result: RowResult) -> dict[str, Any]:
        redelivered, redelivered_on = redelivered_per_1000(result)
        latest, latest_on = result.mean(Cost.LATE)
        overtaken, overtaken_on = result.mean(Cost.OVERTAKEN)
        return {
            "off": list(row.off),
            **failing_json(result),
            "failing_with_it_on": result.failed_twins,
            "where": [[conditions.fault_class, conditions.level] for conditions in conditions_of(row)],
            "classes": {
                str(name): {
                    "failing": result.failing_runs(name),
                    "worse": result.more.get(name, 0),
                    "better": result.fewer.get(name, 0),
                }
                for name in watched(row.engine)
                if name in result.failing or name in result.fewer
            },
            "redelivered_per_1000": redelivered,
            "redelivered_per_1000_with_it_on": redelivered_on,
            "latest_ms": latest,
            "latest_ms_with_it_on": latest_on,
            "overtaken": overtaken,
            "overtaken_with_it_on": overtaken_on,
            "detected": list(detected(self.study, row)),
            "dearer": list(dearer(self.study, row)),
            "problems": {str(seed): text for seed, text in result.problems.items()},
        }

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for ablation, result in self.study.rows.items():
            overtaken = [1000 * mean for mean in result.mean(Cost.OVERTAKEN)]
            yield (
                ablation.name,
                failing_per_1000(result),
                f"{1000 * result.failed_twins / result.runs:.0f}" if result.runs else "–",
                "; ".join(_class_words(result, name) for name in result.failing) or "none",
                "{:.0f} ({:.0f})".format(*redelivered_per_1000(result)),
                "{:.0f} ({:.0f})".format(*result.mean(Cost.LATE)),
                "{:.0f} ({:.0f})".format(*overtaken),
                self._verdict(ablation),
            )

    def _verdict(self, ablation: Ablation) -> str:
        classes, costs = detected(self.study, ablation), dearer(self.study, ablation)
        words = [f"detected: {', '.join(classes)}"] if classes else []
        words += [f"dearer: {', '.join(costs)}"] if costs else []
        return "; ".join(words) or ("too few seeds" if self._is_short(ablation) else "not detected")

    def _sentences(self) -> Iterator[str]:
        yield f"{effort(runs=self.study.runs, took_s=self.took_s, known=self.study.known)}."
        if not self.study.complete:
            yield "Broken off: the first seeds were run for every row, or nearly so."
        yield from self._undetected()

    def _undetected(self) -> Iterator[str]:
        for ablation, result in self.study.rows.items():
            if detected(self.study, ablation):
                continue
            names = watched(ablation.engine)
            worse, better = (sum(side.get(name, 0) for name in names) for side in (result.more, result.fewer))
            hole = "too few seeds, a hole in the tests, or the mechanism is not needed"
            if self._is_short(ablation):
                hole = f"too few seeds, since a table of this size takes at least {self.study.least_seeds} a row"
            known = " ".join(NOT_NEEDED[mechanism] for mechanism in ablation.off if mechanism in NOT_NEEDED)
            seen = f"worse in {worse} and better in {better} comparisons: {hole}"
            yield f"{ablation.name}, {result.runs} seeds: {known or seen}."

    def _is_short(self, ablation: Ablation) -> bool:
        return self.study.rows[ablation].runs < self.study.least_seeds


def _class_words(result: RowResult, name: str) -> str:
    """How many runs fail with the class, and the conditions under which most of them do."""
    failing = result.failing[name]
    worst = max(failing, key=lambda conditions: failing[conditions])
    return f"{name} {1000 * result.failing_runs(name) / result.runs:.0f} ({worst.fault_class}, {worst.level})"


def run_ablations(
    ablations: Sequence[Ablation],
    *,
    seeds: range,
    out: Path | None,
    runs: Path = RUNS,
    where: Where = HERE,
    command: str = "zonelab ablate",
) -> AblationReport:
    """Run ``ablations`` in a folder below ``runs``, and write their page to ``out``. Raises ``OSError``."""
    pairs = ablation_pairs(ablations, seeds=seeds)
    return AblationReport.of(pairs.experiment, pairs.compared, runs=runs, command=command, out=out, where=where)

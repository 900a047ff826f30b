"""Makes docs/results.md and its figure: what the lab finds for its flagship scenarios, beside theory and in both arms.

    python benchmarks/results.py [--seeds 10] [--real 3]

Duplicates against work over lease, with the law; what is not delivered, against how a zone comes back; latency against
level, and agreement of simulation and real servers, as ``zonelab evaluate --confirm`` judges it. Each figure has its
seeds, sample and 95 % interval by run; the page says on what it was made, and how busy that was. ``--real 0``: no
servers are started.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory

from environment import environment

from zonelab.analysis.comparison.confirmation import decided, medians_ms, pairs_of
from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.rates.objectives import CASES, LOSSES
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.statistics import mean_interval
from zonelab.analysis.summary.cautions import cautions
from zonelab.analysis.summary.result import Result
from zonelab.scenarios.arms import Arm, ZoneKind
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run.simulated import NullWatcher
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, rows
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.evaluate.one_run import measured, measured_times

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURE = ROOT / "docs" / "results.md", ROOT / "docs" / "images" / "results-duplicates.png"
LEVELS = ("DC_ONE", "DC_QUORUM", "DC_SAFE_QUORUM")
WORK_MS, LOOKS_MS, PROGRAMS, LEASES_MS = 100, 200, 4, (50, 100, 200, 400)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=10, help="simulated runs of each row")
    options.add_argument("--real", type=int, default=3, help="real runs of each row")
    given = options.parse_args()
    seeds = range(1, given.seeds + 1)
    load = os.getloadavg()[0]
    parts = [duplicates(seeds), restarts(seeds), latencies(seeds, given.real), agreement(seeds, given.real)]
    head = intro(given.seeds, given.real, (load, os.getloadavg()[0]))
    PAGE.write_text("\n".join([head, *parts]), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}, {FIGURE.relative_to(ROOT)}")


def intro(seeds: int, real: int, load: tuple[float, float]) -> str:
    made = environment()
    return f"""# Results

Compare theory, simulation and real servers here: duplicates, losses, latency, and how well both arms agree.
`python benchmarks/results.py --seeds {seeds} --real {real}` made this page
on {made["date_utc"]} UTC: commit {made["commit"]}, Python {made["python"]}, {made["platform"]},
{made["cpus"]} processors, load average {load[0]:.1f} at the begin and {load[1]:.1f} at the end.
Simulated rows have the seeds 1 to {seeds}, real ones 1 to {real}. Intervals are 95 % ones of Student over runs;
– stands where runs do not vary. Simulated figures do not depend on the machine; real ones do.
"""


def duplicates(seeds: range) -> str:
    """Messages delivered more than once, beside the law."""
    lines, points = [], []
    for lease_ms in LEASES_MS:
        work = f"per_zone: {PROGRAMS}, batch: 1, wait_ms: 500, processing: 'exponential:{WORK_MS}ms'"
        one_zone = ["arm=sim", "topology.zones=[a]", "level=DC_ONE", "links.lag=0", "drain.bound_s=30"]
        looks = [f"queue.unack_ms={lease_ms}", f"queue.unack_interval_ms={LOOKS_MS}"]
        load = ["load={duration_s: 40, rate_per_s: 8}", f"consumers={{{work}}}"]
        scenario = load_scenario("steady", overrides=[*one_zone, *looks, *load])
        shares, messages = [], 0
        for run in simulated(scenario, seeds):
            times = Counter(
                row["message_id"]
                for row in rows(run.tables, OPERATIONS_NAME, OPERATIONS.names)
                if row["f"] == "pop" and row["type"] == "ok" and row["message_id"] is not None
            )
            shares.append(sum(count > 1 for count in times.values()) / len(times))
            messages += len(times)
        points.append((WORK_MS / lease_ms, shares))
        found = told(shares, scale=100, unit=" %")
        lines.append(
            f"| {lease_ms} | {WORK_MS / lease_ms:.2f} | {messages:,} | {found} | {100 * law(lease_ms):.1f} % |"
        )
    draw(points)
    return f"""
## Duplicates against work over lease

One zone, exponential work w of {WORK_MS} ms, {PROGRAMS} consumers, each of which looks for ended leases every
{LOOKS_MS} ms. By the law a message is delivered again if its work outlasts the lease L and the time T to the next look
of any of them, the least of {PROGRAMS} evenly spread times: exp(−L/w) · E[exp(−T/w)].

| lease, ms | work / lease | messages | delivered more than once | law |
|---:|---:|---:|---:|---:|
{chr(10).join(lines)}

![Duplicates against work over lease](images/{FIGURE.name})
"""


def law(lease_ms: float) -> float:
    """The time to the next look is the least of as many evenly spread times as there are programs; by recursion."""
    looks = LOOKS_MS / WORK_MS
    part = (1 - exp(-looks)) / looks
    for programs in range(1, PROGRAMS):
        part = (1 - programs * part) / looks
    return exp(-lease_ms / WORK_MS) * PROGRAMS * part


def draw(points: Sequence[tuple[float, Sequence[float]]]) -> None:
    figure, (axis,) = style.new_figure(height=3.2)
    leases = [WORK_MS / (0.2 + place * 0.02) for place in range(100)]
    axis.plot([WORK_MS / one for one in leases], [100 * law(one) for one in leases], color=style.INK, label="law")
    for number, (ratio, shares) in enumerate(points):
        mean, around = sum(shares) / len(shares), mean_interval(shares)
        ends = (mean, mean) if around is None else (around.low, around.high)
        label = "simulated, 95 % interval over runs" if not number else None
        axis.errorbar(
            ratio,
            100 * mean,
            yerr=[[100 * (mean - ends[0])], [100 * (ends[1] - mean)]],
            fmt="o",
            color=style.colour_of_zone(0),
            label=label,
        )
    style.label(axis, x="mean work / lease", y="messages delivered\nmore than once, %")
    style.legend_above(figure, axis)
    about = f"one zone, work exponential, {len(points[0][1])} runs a point, simulated"
    style.frame(figure, "Duplicates against work over lease", about)
    style.save(figure, FIGURE)


def restarts(seeds: range) -> str:
    """Return what is owed and not delivered in zone-crash, by how the zone's server comes back."""
    lines = []
    for level in LEVELS:
        for how in ("keep", "warm", "wipe"):
            fault = "{kind: wipe, zone: b, at_s: 2.5, for_s: 2.5}"
            changed = f"faults=[{fault}]" if how == "wipe" else f"faults[0].restart={how}"
            scenario = load_scenario("zone-crash", overrides=["arm=sim", f"level={level}", changed])
            shares, cases = [], Counter[str]()
            for run in simulated(scenario, seeds):
                counts = {name: run.verdict.counts[name] for name in CASES[LOSSES]}
                shares.append(sum(counts.values()) / run.verdict.totals.pushed)
                cases.update({str(name): count for name, count in counts.items() if count})
            words = ", ".join(f"{name} {count}" for name, count in sorted(cases.items())) or "none"
            lines.append(f"| {level} | {how} | {told(shares, scale=1000)} | {words} |")
    return f"""
## Losses against restart

`zone-crash`: the server of one of three zones is killed for 2.5 s of 8 and comes back with its own file (keep), a copy
of another zone (warm), or nothing (wipe); dyno-queues as it is. {len(seeds)} runs a row.

| level | restart | lost, stuck and abandoned of 1,000 pushed | cases |
|---|---|---:|---|
{chr(10).join(lines)}
"""


def latencies(seeds: range, real: int) -> str:
    """Constant links, where theory is exact."""
    lines = []
    for level, by_law in zip(LEVELS, ("0", "8", "8"), strict=True):
        scenario = load_scenario("steady", overrides=[f"level={level}", "links.lag=constant:2ms", "load.duration_s=4"])
        lines += arms(level, scenario, seeds, real, by_law=by_law)
    return f"""
## Latency against level

`steady` with links of 2 ms one way: a push is two commands one after the other, and at a quorum each waits for one
round trip to the nearer of two zones. Medians in ms, geometric means over runs. *Machine was busy*: in one of a hundred
looks the lab's own loop was late by a good part of the latencies shown. At DC_ONE nothing waits for a link, so that its
latencies are near that on an idle machine, too.

| level | operation | law | simulated | real | real beside simulated | within 15 % |
|---|---|---:|---:|---:|---:|---|
{chr(10).join(lines)}
"""


def agreement(seeds: range, real: int) -> str:
    scenario = load_scenario("zone-crash")
    return f"""
## Agreement of the arms under a fault

`zone-crash` at DC_QUORUM, links `{scenario.links.lag}`.

| level | operation | law | simulated | real | real beside simulated | within 15 % |
|---|---|---:|---:|---:|---:|---|
{chr(10).join(arms("DC_QUORUM", scenario, seeds, real, by_law="–"))}
"""


def arms(level: str, scenario: Scenario, seeds: range, real: int, *, by_law: str) -> Iterator[str]:
    predicted = [medians_ms(measured(run)) for run in simulated(scenario, seeds)]
    on_servers, busy = real_medians(scenario, range(1, real + 1))
    pairs = {str(pair.operation): pair for pair in pairs_of(predicted, on_servers)} if on_servers else {}
    for operation in ("push", "lease", "ack"):
        law_told = by_law if operation == "push" else "–"
        if (pair := pairs.get(operation)) is not None:
            how, why = decided([pair], busy=busy)
            agrees = {"confirmed": "yes", "not confirmed": "no"}.get(str(how), why)
            real_ms, apart = str(pair.measured), pair.difference
            if busy:  # then the interval is about the machine
                real_ms, apart = f"{pair.measured.value_ms:.3g}", f"{pair.relative:+.0%}"
            medians = f"{pair.predicted} | {real_ms} | {apart}"
            yield f"| {level} | {operation} | {law_told} | {medians} | {agrees} |"
        elif all(operation in run for run in predicted):
            values = [run[operation] for run in predicted]
            yield f"| {level} | {operation} | {law_told} | {sum(values) / len(values):.3g} | – | – | – |"


def real_medians(scenario: Scenario, seeds: range) -> tuple[list[Mapping[str, float]], bool]:
    """Return the medians of runs on real servers, and whether the machine was busy in any of them."""
    found, busy = [], False
    with TemporaryDirectory(prefix="zonelab-results-") as folder:
        for seed in seeds:
            one = scenario.model_copy(update={"arm": Arm.REAL, "seed": seed})
            directory, record = run_on_servers(
                one, kind=ZoneKind.PROCESS, runs=Path(folder), watcher=NullWatcher(), command="benchmarks/results.py"
            )
            if record.status != "complete":
                raise SystemExit(f"{one.name}, seed {seed}: {record.error}")
            result = Result.examined(directory, title=one.level)
            busy |= bool(cautions([result]))
            found.append(medians_ms(measured_times(directory)))
            print(json.dumps({"real": one.name, "level": one.level, "seed": seed, "busy": busy}), file=sys.stderr)
    return found, busy


def simulated(scenario: Scenario, seeds: range):  # noqa: ANN201
    for seed in seeds:
        run = attempt(scenario.model_copy(update={"arm": Arm.SIM, "seed": seed}))
        if run.verdict is None:
            raise SystemExit(f"{scenario.name}, seed {seed}: {run.run.record.error}")
        yield run


def told(values: Sequence[float], *, scale: float, unit: str = "") -> str:
    mean, around = sum(values) / len(values) * scale, mean_interval(values)
    ends = "–" if around is None else f"{around.low * scale:.3g} to {around.high * scale:.3g}"
    return f"{mean:.3g}{unit} ({ends})"


if __name__ == "__main__":
    main()

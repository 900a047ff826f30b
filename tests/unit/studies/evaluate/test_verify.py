"""Goal: prediction stands beside production, figure by figure of the same kind, and the exit code says how it is.

Method: short runs in simulation as production; and a server on loopback that answers as Prometheus does.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from support.app.commands import Done, zonelab_here
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.rates.objectives import Figure
from zonelab.studies.evaluate import production

DOWN = "any one zone down"
QUORUM = "level=DC_QUORUM"
LOAD = {"duration_s": 1, "rate_per_s": 30}
SECTION: dict[str, Any] = {
    "vary": {"level": ["DC_ONE", "DC_QUORUM"]},
    "objectives": ["p99(push) < 1s", f"lost == 0 with {DOWN}"],
    "faults": {DOWN: {"per_year": 12, "lasts_s": 0.5, "fault": {"kind": "kill", "zone": "any"}}},
    "verify": {
        "messages": "sum(increase(pushed_total[$window]))",
        "p90(push)": "histogram_quantile(0.9, sum by (le) (increase(push_seconds_bucket[$window])))",
        "duplicates": "sum(increase(again_total[$window]))",
        "unavailable": "sum(increase(down_seconds_total[$window]))",
    },
}


def file(folder: Path, name: str = "rollout.yaml", **changes: Any) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({**SMALL, "load": LOAD, "evaluate": {**SECTION, **changes}}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a user who has evaluated a rollout and has three runs of it, the last of them with a fault."""
    made = tmp_path_factory.mktemp("user")
    file(made)
    zonelab_here("evaluate", "rollout.yaml", "--runs", "44", cwd=made)
    fault = ("--set", "faults=[{kind: kill, zone: a, at_s: 0.25, for_s: 0.5}]")
    for seed, words in ((11, ()), (12, ()), (13, fault)):
        run = ("run", "rollout.yaml", "--on", "sim", "--seed", str(seed), "--level", "DC_QUORUM", *words)
        assert zonelab_here(*run, cwd=made).returncode in (0, 1)
    return made


def runs(folder: Path, *seeds: int) -> list[str]:
    (found,) = zip(*(folder.glob(f"runs/small/*-DC_QUORUM-dyno-{seed}") for seed in seeds), strict=True)
    return [str(path.relative_to(folder)) for path in found]


def verify(folder: Path, *words: str) -> Done:
    return zonelab_here("verify", "rollout.yaml", *words, cwd=folder)


def test_runs_of_the_rollout_lie_inside_and_are_told_with_their_setting(folder: Path):
    words = ("--history", *runs(folder, 11, 12))
    done = verify(folder, *words, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit_code"], told["setting"]) == (0, 0, QUORUM), told
    assert told["seconds"] == pytest.approx(2, abs=0.2)
    rows = {row["figure"]: row for row in told["figures"]}
    assert {*production.ALWAYS, "unavailable", "commands"} == rows.keys()
    assert {row["status"] for row in rows.values()} == {"inside"}
    assert rows["p50(push)"]["of"] == rows["losses"]["of"] > 60
    assert rows["p50(push)"]["predicted"]["low"] > 0.0005, "a quorum waits for a link"
    printed = verify(folder, *words).stdout
    assert "As predicted: every figure lies inside the prediction intervals, which hold for all 10 together" in printed
    assert "level=DC_QUORUM; 2 s with no fault." in printed


def test_a_fault_lies_inside_where_it_is_declared_and_outside_where_it_is_not(folder: Path):
    (run,) = runs(folder, 13)
    silent = verify(folder, "--history", run)
    assert silent.returncode == 1
    assert re.search(r"Outside of the prediction intervals.*: .*losses", silent.stdout.replace("\n", " "))
    declared = verify(folder, "--history", run, "--faults", DOWN)
    assert declared.returncode == 0, declared.stdout
    assert f"1 s with 1 x {DOWN}." in declared.stdout


@pytest.mark.parametrize(
    ("compared", "measured"), [("p50(push)", "p99(push)"), ("p99(push)", "p50(push)"), ("p50(push)", "p99(ack)")]
)
def test_unlike_figures_are_not_inside(compared: str, measured: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A planted bug: one figure is measured where another is predicted."""
    honest = production._seen
    unlike = {Figure.parsed(compared): Figure.parsed(measured)}
    monkeypatch.setattr(production, "_seen", lambda figure, of: honest(unlike.get(figure, figure), of))
    done = verify(folder, "--history", *runs(folder, 11, 12))
    assert (done.returncode, f"in 95 of 100 cases: {compared}" in done.stdout.replace("\n", " ")) == (1, True)


def test_runs_of_another_rollout_or_of_none_are_refused(folder: Path, tmp_path: Path):
    other = ("run", "rollout.yaml", "--on", "sim", "--seed", "21", "--set", "load.rate_per_s=9")
    assert zonelab_here(*other, cwd=folder).returncode == 0
    (run,) = runs(folder, 21)
    done = verify(folder, "--history", run)
    assert done.returncode == 64
    assert done.stderr == f"zonelab: {run}: of another rollout: load.rate_per_s is 9.0, in the file 30.0\n"
    mixed = verify(folder, "--history", *runs(folder, 11), "--setting", "level=DC_ONE")
    assert (mixed.returncode, "accepted: level=DC_QUORUM, of which the histories are" in mixed.stderr) == (64, True)
    file(tmp_path)
    done = verify(tmp_path, "--history", "runs/small/latest")
    assert (done.returncode, done.stderr.count("\n")) == (64, 1)
    assert "no results of this version; first run: zonelab evaluate rollout.yaml" in done.stderr
    assert not (tmp_path / "runs").exists()
    assert verify(folder, "--history", "runs/small/none").returncode in (3, 64)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--history or --prometheus: accepted: one of them"),
        (("--prometheus", "http://x", "--from", "1"), "--prometheus, --from and --to: accepted: all three"),
        (
            ("--prometheus", "http://x", "--from", "2026-11-30T00:00:00Z", "--to", "2026-11-29T00:00:00Z"),
            "--from: got 2026-11-30T00:00:00Z with --to 2026-11-29T00:00:00Z; accepted: a time before --to",
        ),
        (("--prometheus", "ftp://x", "--from", "1", "--to", "2"), "got 'ftp://x'; accepted: a URL such as http://"),
        (("--prometheus", "http://x", "--from", "noon", "--to", "2"), "--from: got 'noon'; accepted: 2026-11-29T"),
        (("y.yaml", "--prometheus", "http://x", "--from", "1", "--to", "2"), "FILE: got rollout.yaml, y.yaml"),
    ],
)
def test_what_does_not_go_together_is_refused(words: tuple[str, ...], told: str, folder: Path):
    done = verify(folder, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1)
    assert told in done.stderr


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        (["rain"], f"--faults: got 'rain'; accepted: {DOWN}"),
        ([f"{DOWN}=1h"], "--faults: got 3600 s of faults; accepted: at most 1"),
        ([f"{DOWN}=soon"], "duration: got 'soon'"),
    ],
)
def test_faults_that_cannot_have_been_are_refused(faults: list[str], told: str, folder: Path):
    done = verify(folder, "--history", *runs(folder, 11), *(word for one in faults for word in ("--faults", one)))
    assert (done.returncode, told in done.stderr) == (64, True), done.stderr


class Answers:
    """Answers of a Prometheus by a part of the query: a value, buckets by their upper ends, or a status."""

    def __init__(self, **told: Any) -> None:
        self.told = {"pushed_total": 400.0, "again_total": 0.0, "down_seconds": 0.0, **told}
        self.asked: list[tuple[str, str]] = []

    def answer(self, query: str, at: str) -> tuple[int, Any]:
        self.asked.append((query, at))
        told = next(value for name, value in self.told.items() if name in query)
        if isinstance(told, tuple):
            return told
        by_end = told if isinstance(told, dict) else {None: told}
        series = [
            {"metric": {} if end is None else {"le": end}, "value": [float(at), str(value)]}
            for end, value in by_end.items()
            if value is not None
        ]
        return 200, {"status": "success", "data": {"resultType": "vector", "result": series}}


BUCKETS = {"0.001": 0, "0.005": 350, "0.025": 399, "+Inf": 400}


@contextmanager
def serving(answers: Answers) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            code, body = answers.answer(asked["query"][0], asked["time"][0])
            self.send_response(code)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def asked(folder: Path, answers: Answers, *words: str) -> Done:
    with serving(answers) as url:
        window = ("--from", "2026-11-28T00:00:00Z", "--to", "2026-11-28T00:00:20Z", "--setting", QUORUM)
        return verify(folder, "--prometheus", url, *window, *words)


def test_prometheus_is_asked_about_the_window_and_its_buckets_widen_the_figure(folder: Path):
    answers = Answers(push_seconds_bucket=BUCKETS)
    done = asked(folder, answers, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["seconds"]) == (0, 20.0), told
    rows = {row["figure"]: row for row in told["figures"]}
    assert (rows["p90(push)"]["seen"], rows["p90(push)"]["of"]) == ({"low": 0.005, "high": 0.025}, 400)
    assert rows["p90(push)"]["predicted"]["high"] < 0.025, "a part of the bucket is inside, which is all it can say"
    assert rows["duplicates"] == {**rows["duplicates"], "of": 400, "seen": {"low": 0, "high": 0}, "status": "inside"}
    assert ("sum by (le) (increase(push_seconds_bucket[20s]))", "1795824020.000") in [
        (query.strip(), at) for query, at in answers.asked
    ]


def test_what_is_outside_is_named(folder: Path):
    slow = {"0.1": 0, "0.5": 400, "+Inf": 400}
    done = asked(folder, Answers(push_seconds_bucket=slow, again_total=200.0))
    assert done.returncode == 1
    told = done.stdout.replace("\n", " ")
    assert "in 95 of 100 cases: duplicates, p90(push)." in told
    assert re.search(r"p90\(push\) .* 100ms to 500ms .* outside", told)


def test_a_figure_without_a_value_is_not_compared_and_none_at_all_ends_with_2(folder: Path):
    gone = Answers(push_seconds_bucket=BUCKETS, again_total=None, down_seconds=float("nan"))
    done = asked(folder, gone)
    assert (done.returncode, done.stdout.count("not comparable")) == (0, 2)
    assert "duplicates: Prometheus has no value" in done.stdout
    nothing = Answers(push_seconds_bucket={"+Inf": 0}, pushed_total=None)
    done = asked(folder, nothing)
    assert (done.returncode, "Nothing can be compared." in done.stdout) == (2, True)
    assert "p90(push): its histogram is empty" in done.stdout
    assert "duplicates: verify.messages has no value" in done.stdout


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        ((503, b""), 3, "answers 503 Service Unavailable"),
        ((200, b"<html>"), 3, "answers what is not of Prometheus"),
        ((400, {"error": "parse error"}), 64, "evaluate.verify: messages: refused by http://127.0.0.1:"),
    ],
)
def test_no_answer_is_3_and_a_refused_query_64(answer: tuple[int, Any], code: int, told: str, folder: Path):
    done = asked(folder, Answers(pushed_total=answer))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert told in done.stderr


def test_a_server_that_is_not_there_is_3(folder: Path):
    with serving(Answers()) as url:
        pass
    done = verify(folder, "--prometheus", url, "--from", "1", "--to", "2", "--setting", QUORUM)
    assert (done.returncode, done.stderr) == (3, f"zonelab: {url}: does not answer: [Errno 111] Connection refused\n")


def test_a_query_for_another_quantile_and_an_unknown_figure_are_refused(tmp_path: Path, folder: Path):
    queries = {**SECTION["verify"], "p90(push)": "histogram_quantile(0.5, push_seconds_bucket)"}
    file(folder, "half.yaml", verify=queries)
    with serving(Answers(push_seconds_bucket=BUCKETS)) as url:
        window = ("--prometheus", url, "--from", "1", "--to", "2", "--setting", QUORUM)
        done = zonelab_here("verify", "half.yaml", *window, cwd=folder)
        assert (done.returncode, done.stderr) == (
            64,
            "zonelab: evaluate.verify: p90(push): got histogram_quantile(0.5, …); "
            "accepted: histogram_quantile(0.9, …)\n",
        )
        unnamed = zonelab_here("verify", "half.yaml", *window[:-2], cwd=folder)
    assert unnamed.returncode == 64, "none is recommended, or else its query is refused"
    file(tmp_path, verify={"p99(psh)": "x"})
    done = verify(tmp_path, "--history", "x")
    assert (done.returncode, "evaluate.verify: got the figure 'p99(psh)'" in done.stderr) == (64, True)

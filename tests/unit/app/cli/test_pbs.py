"""Goal: ``zonelab pbs`` shows what was found, and refuses in one line what cannot be. Method: its command line."""

import json
from pathlib import Path

import pytest
from support.app.commands import Done, zonelab_here


def pbs(*words: object, cwd: Path) -> Done:
    return zonelab_here("pbs", *map(str, words), cwd=cwd)


def test_the_settings_asked_for_stand_beside_other_stores_with_seed_version_and_sample(tmp_path: Path) -> None:
    done = pbs("--model", "lnkd-disk", "--r", 1, "--at", "10ms", "--trials", 100_000, "--seed", 7, cwd=tmp_path)
    assert done.returncode == 0
    names = [line.split("│")[0].rstrip() for line in done.stdout.splitlines() if line[:1].isalpha()]
    assert names[:7] == [
        *("R=1 W=1", "R=1 W=2", "R=1 W=3"),
        *("DC_ONE, same zone", "DC_ONE, other zone", "DC_QUORUM", "Elasticsearch"),
    ]
    assert "10 ms later" in done.stdout
    assert "first passage" in done.stdout
    assert "R=1 W=1: one of the last k versions with 33.3% (k = 1), 55.6% (k = 2)" in done.stdout
    assert "of 3: one 1, quorum 2, all 3" in done.stdout
    assert done.stdout.endswith("zonelab 0.1.0, 100,000 trials a model, seed 7; 95 % intervals.\n")


def test_json_has_every_figure_with_its_interval(tmp_path: Path) -> None:
    words = ("--lag", "exponential:2ms", "--own", "100us", "--r", 1, "--w", 1, "--trials", 20_000, "--json")
    told = json.loads(pbs(*words, cwd=tmp_path).stdout)
    assert (told["seed"], told["trials"], told["confidence"], told["zonelab"]) == (1, 20_000, 0.95, "0.1.0")
    assert told["lags"]["own"]["write"] == "constant:0.1ms"
    first = told["settings"][0]
    assert (first["r"], first["w"]) == (1, 1)
    for figure in (first["write_ms"]["p99.9"], first["consistent_at_ms"]["0"], first["visible_after_ms"]):
        assert figure["low"] <= figure["value"] <= figure["high"]
    assert told == json.loads(pbs(*words, cwd=tmp_path).stdout)


def test_the_published_table_stands_beside_both_estimators(tmp_path: Path) -> None:
    told = json.loads(pbs("--table", "--trials", 2_000, "--json", cwd=tmp_path).stdout)
    assert len(told["rows"]) == 30
    assert told["rows"][0]["published"] == {"read_ms": 0.66, "write_ms": 0.66, "visible_ms": 1.85}
    shown = pbs("--table", "--trials", 2_000, cwd=tmp_path).stdout
    assert "first passage" in shown
    assert "too few" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "got no model; accepted: --table, or --model lnkd-ssd|lnkd-disk|ymmr|ymmr-3.35|wan, or --lag TEXT"),
        (("--model", "riak"), "--model: got 'riak'; accepted: lnkd-ssd, lnkd-disk, ymmr, ymmr-3.35, wan"),
        (("--model", "wan", "--lag", "2ms"), "got --model and --lag; accepted: --table, or --model"),
        (("--lag", "gamma:2ms"), "--lag: unknown lag 'gamma:2ms'; accepted: 0, 2ms"),
        (("--lag", "trace:none.csv"), "--lag: cannot read lag trace 'none.csv'"),
        (("--model", "wan", "--r", 4), "--r: got 4; accepted: 1 to 3, the number of replicas (--n)"),
        (("--model", "wan", "--w", 0), "--w: got 0; accepted: 1 to 3"),
        (("--model", "wan", "--n", 21), "--n: got 21; accepted: 1 to 20"),
        (("--model", "wan", "--probability", 1), "--probability: got 1; accepted: above 0 and below 1"),
        (("--model", "wan", "--trials", 0), "--trials: got 0; accepted: 1 to 3,846,153 with 13 rows"),
        (("--table", "--trials", 10**8), "--trials: got 100,000,000; accepted: 1 to 10,000,000"),
        (("--model", "wan", "--at", "soon"), "duration: got 'soon'"),
        (("--table", "--r", 1), "--table excludes all options but --trials, --seed and --json"),
    ],
)
def test_what_is_not_accepted_is_one_line_with_what_is(words: tuple[object, ...], told: str, tmp_path: Path) -> None:
    done = pbs(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (64, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "rows", "sentences"),
    [
        (
            ("--n", 1, "--model", "wan"),
            4,
            [
                "With one replica Dynomite's DC_SAFE_QUORUM answers every command with an error; the lab's does not.",
                "of 1: one 1, quorum 1, all 1",
            ],
        ),
        (("--n", 2, "--r", 2, "--w", 1, "--lag", "2ms"), 5, ["of 2: one 1, quorum 1, all 2"]),
        (
            ("--n", 4, "--r", 1, "--w", 2, "--lag", "2ms", "--own", "1ms"),
            2,
            [
                "R=1 W=2: one of the last k versions with 50.0% (k = 1), 75.0% (k = 2), 87.5% (k = 3), 96.9% (k = 5), "
                "99.902% (k = 10)",
                "Dynomite has at most 3 replicas in a data centre: no rows of its levels.",
                "of 4: one 1, quorum 3, all 4",
            ],
        ),
    ],
)
def test_what_is_said_below_the_table_depends_on_how_many_replicas_there_are(
    words: tuple[object, ...], rows: int, sentences: list[str], tmp_path: Path
) -> None:
    done = pbs(*words, "--trials", 50, "--probability", 0.9, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = [
        line for line in done.stdout.splitlines() if line.startswith(("R=", "DC_ONE, ", "DC_QUORUM ", "Elasticsea"))
    ]
    assert len([name for name in names if "one of" not in name and "copies that" not in name]) == rows
    told = done.stdout.splitlines()
    below = next(number for number, line in enumerate(told) if line.startswith("Times in ms. R, W: "))
    model = {"wan": "wan: ", "2ms": "constant:2ms: each way to the own server "}[
        str(words[words.index("--model" if "--model" in words else "--lag") + 1])
    ]
    assert told[below - 1].startswith(model)
    assert told[below + 1] == "t: 90.0% of the reads that begin so long after the write ended see it."
    *others, copies = sentences
    passage = ["first passage: the paper's own estimate of t, which is biased low (docs/pbs.md)."]
    assert [line for line in told[below + 2 : -2] if line not in passage] == others
    assert copies in told[-2]
    assert told[-2].startswith("Elasticsearch 1.x/2.x: copies that must be active before a write begins, ")

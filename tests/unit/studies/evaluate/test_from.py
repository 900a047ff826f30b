"""Goal: what cannot be read from servers is said in one line, and nothing is written. Method: ports nobody has."""

import socket
from pathlib import Path

import pytest
from support.app.commands import zonelab_here


def test_a_server_that_does_not_answer_is_named_and_ends_with_3(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        done = zonelab_here("evaluate", "--from", f"127.0.0.1:{port}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    (refused,) = done.stderr.splitlines()
    assert refused.startswith(f"zonelab: 127.0.0.1:{port}: does not answer: ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_kept_and_named_before_anything_is_asked(tmp_path: Path):
    (tmp_path / "rollout.yaml").write_text("name: mine")
    done = zonelab_here("evaluate", "--from", "127.0.0.1:1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (64, "zonelab: rollout.yaml: exists already; choose a new file name\n")
    assert (tmp_path / "rollout.yaml").read_text() == "name: mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "127.0.0.1"), "address '127.0.0.1': accepted: HOST:PORT"),
        (("--from", "h:1", "h:2", "h:1"), "--from: got h:1, h:2, h:1; accepted: 1 to "),
        (("--from", "h:1", "x.yaml", "y.yaml"), "FILE: got x.yaml, y.yaml; accepted: one"),
        (("x.yaml", "--lags", "lags"), "--lags needs --from"),
        (("--from", "h:1", "--rate", "9"), "--rate: excluded by FILE"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_asked(
    words: tuple[str, ...], told: str, tmp_path: Path
):
    done = zonelab_here("evaluate", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1)
    assert told in done.stderr

"""Goal: what goes wrong on the command line is told in one line, with the value given, and by its own exit code.

Method: run command lines in this process, one that Ctrl-C ends among them.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.scenarios.short_runs import zonelab_command

from zonelab.app.cli import main as cli
from zonelab.app.verbs import demo
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.spec import library


def test_ctrl_c_is_told_in_one_line_and_exits_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def ended() -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "library_names", ended)
    assert cli.run_cli(["scenarios"]) == 2
    assert capsys.readouterr().err == "zonelab: interrupted\n"


def test_the_library_is_listed_with_loads_and_faults(capsys: pytest.CaptureFixture[str]):
    assert cli.run_cli(["scenarios"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in (*library.library_names(), "swizzle_clog", "none"))


@pytest.mark.parametrize("words", [["run", "steady", "--on", "sim"], ["hunt", "steady"], ["up"], ["report"]])
def test_an_argument_that_is_not_utf8_is_refused(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / os.fsdecode(b"folder-\xff")
    assert cli.run_cli([*words, *(["--dir"] if words != ["report"] else []), str(folder)]) == 64
    said = capsys.readouterr().err
    assert said == f"zonelab: argument: got {os.fsencode(folder)!r}; accepted: text in UTF-8\n"
    assert not list(tmp_path.iterdir())


def test_a_run_in_a_folder_whose_name_is_not_utf8_is_refused_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Its tables could be written there, and not be read when it has ended."""
    folder = tmp_path / os.fsdecode(b"folder-\xff")
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert cli.run_cli(["run", "steady", "--on", "sim"]) == 64
    assert f"directory: got {os.fsencode(folder / 'runs')!r}; accepted: a name in UTF-8" in capsys.readouterr().err
    assert not list(folder.iterdir())
    (folder / "old").mkdir()
    assert cli.run_cli(["check", "old"]) == 3
    assert capsys.readouterr().err.count("its name is not UTF-8") == 1


@pytest.mark.parametrize("words", [["scenarios"], ["run", "--help"]])
def test_a_closed_pipe_ends_with_141_and_without_a_word(words: list[str]):
    """1 would say that a run is invalid. The output is shorter than the pipe's buffer, so only a flush can fail."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        ended = subprocess.run(zonelab_command(*words), stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_connection_to_a_server_that_broke_is_no_closed_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def broken() -> list[str]:
        try:
            raise BrokenPipeError
        except BrokenPipeError:
            raise ClusterError("zone a has gone") from None

    monkeypatch.setattr(library, "library_names", broken)
    assert cli.run_cli(["scenarios"]) == 3
    assert capsys.readouterr().err == "zonelab: zone a has gone\n"


def test_too_many_zones_to_try_are_told_with_the_most(capsys: pytest.CaptureFixture[str]):
    assert cli.run_cli(["try", "--producer", "x", "--zones", "8"]) == 64
    assert capsys.readouterr().err == "zonelab: --zones: got 8; accepted: 1 to 7, or their names: a,b,c\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hunt", "steady", "--runs", "0"], "'--runs': Input should be greater than or equal to 1, got '0' "),
        (["up", "--zones", "8"], "'--zones': Input should be less than or equal to 7, got '8' "),
        (["run", "steady", "--level", "ALL"], "'--level': 'ALL' is not one of 'DC_ONE', "),
    ],
)
def test_a_value_out_of_range_is_shown(words: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run_cli(words) == 64
    err = capsys.readouterr().err
    assert err.startswith(f"zonelab: Invalid value for {told}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fault", "kil", "a"], "No such command 'kil'. Did you mean 'kill'?; accepted: lag, loss, "),
        (["fault"], "Missing command; accepted: lag, loss, "),
        (["fault", "lag", "a"], "Missing argument 'LAG'; accepted: E.g. constant:50ms, "),
        (
            ["run", "steady", "x"],
            "Got unexpected extra argument(s) (x); accepted: [OPTIONS] {NAME|FILE} (try: zonelab run",
        ),
        (["fault", "port_crash", "a", "--wipe"], "No such option: --wipe; accepted: --for, --json, "),
        (["fault", "coordinator_pause", "a", "--for", "soon"], "duration: got 'soon'; accepted: "),
    ],
)
def test_a_command_or_an_option_that_is_not_there_is_told_with_those_that_are(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.run_cli(words) == 64
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["."], "--follow: needs --out DIR, which keeps what is counted so far"),
        (["hdfs://head/runs/1", "--out", "t"], "--follow: got hdfs://head/runs/1; accepted: runs of this machine"),
    ],
)
def test_what_cannot_be_followed_is_told_before_spark_begins(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.run_cli(["analyze", *words, "--follow"]) == 64
    assert capsys.readouterr().err.startswith(f"zonelab: {told}")


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [("interrupted", 2, ""), ("failed", 3, "zonelab: DC_ONE: no disk; see runs/1/lab.log\n"), ("complete", 0, "")],
)
def test_the_demo_ends_as_the_run_that_stopped_it(
    status: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    run = SimpleNamespace(
        record=SimpleNamespace(status=status, error="no disk"),
        scenario=SimpleNamespace(level="DC_ONE"),
        directory=Path("runs/1"),
    )
    monkeypatch.setattr(demo.Demo, "print", lambda self: None)
    shown = demo.Demo(runs=(run,), together=demo.Illustrations(), spark=None, command="")
    monkeypatch.setattr(demo, "run_demo", lambda **_: shown)
    assert cli.run_cli(["demo"]) == code
    assert capsys.readouterr().err == said


def test_a_run_in_which_the_lab_fails_is_one_document_of_json(tmp_path: Path):
    (tmp_path / "broken.py").write_text("def queue(*_, **__):\n    raise OSError('no disk')\n")
    words = ["run", "steady", "--on", "sim", "--queue", "broken:queue", "--json"]
    ended = subprocess.run(zonelab_command(*words), cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["status"], told["valid"], "no disk" in told["error"]) == (3, "failed", None, True)
    assert ended.stderr.splitlines()[-1].startswith("zonelab: ")


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_a_demo_that_was_ended_does_not_wait_for_spark(status: str):
    performed = SimpleNamespace(record=SimpleNamespace(status=status), result=object())
    assert demo._spark([performed], SimpleNamespace()) is None


_WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from zonelab.app.cli.main import main
main()
"""


@pytest.mark.parametrize("module", ["zonelab.cluster.zone", "zonelab.analysis.runs.errors", "typer", "rich"])
def test_a_module_that_cannot_be_imported_is_no_verdict(module: str, tmp_path: Path):
    """``zonelab.analysis.runs.errors`` is imported to tell of an error."""
    ended = subprocess.run(
        [sys.executable, "-c", _WITHOUT, module, "check", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    assert re.match(f"zonelab: .*ModuleNotFoundError: .*{module}", ended.stderr.splitlines()[-1])


@pytest.mark.parametrize("code", ["1", "0"])
def test_what_a_queue_of_ones_own_exits_with_is_no_verdict(code: str, tmp_path: Path):
    (tmp_path / "leaves.py").write_text(f"import sys\nsys.exit({code})\n")
    words = ["run", "steady", "--on", "sim", "--queue", "leaves:queue"]
    ended = subprocess.run(zonelab_command(*words), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 64
    assert ended.stderr.startswith("zonelab: --queue: got 'leaves:queue': not found (SystemExit")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "stream", "code"),
    [(["scenarios"], "stdout", 3), (["scenarios"], "stderr", 0), (["run", "nosuch"], "stderr", 64)],
)
@pytest.mark.parametrize("mode", ["full", "read only"])
def test_a_stream_that_cannot_be_written_is_no_verdict(words: list[str], stream: str, code: int, mode: str):
    path, flags = ("/dev/full", os.O_WRONLY) if mode == "full" else (os.devnull, os.O_RDONLY)
    target = os.open(path, flags)
    ended = subprocess.run(
        zonelab_command(*words), **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: target}, check=False
    )
    os.close(target)
    assert ended.returncode == code
    assert b"Traceback" not in (ended.stderr or b"")


def test_a_word_that_is_no_text_is_no_verdict(tmp_path: Path):
    """What stands in the file of ``--junit`` is told in letters that XML has."""
    words = [b"run", b"\xff.yaml", b"--json", b"--junit", b"told.xml"]
    ended = subprocess.run([*zonelab_command(), *words], cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 64
    assert b"Traceback" not in ended.stderr
    assert "accepted: text in UTF-8" in (tmp_path / "told.xml").read_text()

"""Goal: the wheel works where its users are: with its core dependencies alone, beside a package ``cluster`` of somebody
else's, in a folder whose own modules have the names of our folders.

Method: a wheel is built and installed into an environment of its own (tests/support/wheel_environment.py); every
hostile module leaves a mark when it is imported.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.app.every_verb import VERBS, WORDS
from support.programs import HANGS_S
from support.project_files import FOLDERS
from support.wheel_environment import BIN, ROOT, TOOLS, built, pip_install

pytestmark = pytest.mark.registry

CORE_MIB_MAX = 560
ABSENT = ("pyspark", "pandas", "docker", "hypothesis", "pytest")

_EVERY_HELP = """
import contextlib, io, sys
from zonelab.app.cli.main import run_cli
for verb in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run_cli([*verb.split(), "--help"]) == 0, verb
    assert f"zonelab {verb} " in " ".join(out.getvalue().split()), verb
print("helped")
"""

_MISSING = """
import contextlib, io, sys
from zonelab.app.cli.main import run_cli
for line in sys.stdin.read().splitlines():
    with contextlib.redirect_stderr(io.StringIO()) as told:
        code = run_cli(line.split())
    print(code, told.getvalue().strip())
"""

MINE = """
from zonelab.scenarios.queues.zset import ZsetUnderTest

def make(testbed, scenario):
    return ZsetUnderTest(testbed, scenario)
"""

TYPED = """
from collections.abc import Sequence
from zonelab import Message, connect, queues
from zonelab.queues import BlockingDelayQueue, BatchContext, BatchMessage, ConsumeStatus
from zonelab.runs import hunt, run
from zonelab.testing import AsyncCluster, Level, SimCluster, cluster, sim_test

def work(jobs: BlockingDelayQueue) -> None:
    reveal_type((jobs.push(Message(id="1")), jobs.pop, jobs.extend, jobs.get("1"), jobs.size(), jobs.name))
    reveal_type([jobs.ack(delivery) for delivery in jobs.pop(1, wait_ms=5_000)])

def handle(delivered: Sequence[BatchMessage], handling: BatchContext) -> ConsumeStatus:
    return ConsumeStatus.SUCCESS if delivered[0].record.body else ConsumeStatus.SUSPEND

async def serve(lab: AsyncCluster) -> int:
    async with queues.open("jobs", lab) as jobs, queues.open_ordered("orders", "redis://h") as orders, lab.fault("cut"):
        reveal_type((jobs, await jobs.pop(), orders, orders.listen(handle), await orders.wait_empty(timeout_s=1)))
    return len(lab.zones)

with connect("redis://h", level=Level.DC_ONE) as server, cluster("sim") as lab, lab.fault("kill", zone="b") as fault:
    reveal_type((connect, server, server.execute("GET", "k"), queues.open, queues.open_ordered, cluster, fault))
    reveal_type((lab, lab.run(serve), lab.urls, lab.verdict().counts, queues.open("jobs", lab), server.zones))

@sim_test(seeds=20)
async def test_mine(testbed: SimCluster, number: int) -> None:
    reveal_type(testbed.connection("a", Level.DC_QUORUM))

done, found = run("steady"), hunt("steady", runs=2)
reveal_type((run, done, done.verdict, done.summary, found.groups[0].counterexample, found.observations[1].violated))
reveal_type((sim_test, test_mine, hunt))
reveal_type(done.history)
queues.nothing  # type: ignore[attr-defined]
"""
"""The table of pyarrow alone is Any; mypy would call the last line's comment needless if any name were accepted."""


@pytest.fixture(scope="module")
def wheel() -> Path:
    """What the project is now, installed in place of what was there."""
    made = built()
    pip_install("--no-deps", "--no-compile", "--force-reinstall", str(made))
    return made


def _leaves_a_mark(marks: Path) -> str:
    return f"open({str(marks)!r}, 'a').write(__name__ + '\\n')\nraise ImportError('the wrong module')\n"


@pytest.fixture
def folder(wheel: Path, tmp_path: Path) -> Path:
    """A user's project, whose folders have the names of ours."""
    project = tmp_path / "project"
    for name in FOLDERS:
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(_leaves_a_mark(tmp_path / "marks"))
    return project


@pytest.fixture(autouse=True)
def nothing_noticed(tmp_path: Path) -> Iterator[None]:
    yield
    marks = tmp_path / "marks"
    assert not marks.exists(), f"imported from the user's folder: {marks.read_text().split()}"


def run(folder: Path, *words: str, given: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    """A program of the environment, by its name in ``bin``, with nothing of this process's Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(BIN / words[0]), *words[1:]],
        cwd=folder,
        env={**kept, "ZONELAB_STATE": str(folder.parent / "state"), "COLUMNS": "120", **environment},
        input=given,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def done(folder: Path, *words: str, **environment: str) -> str:
    ended = run(folder, *words, **environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_hostile_module_is_noticed(folder: Path) -> None:
    assert run(folder, "python", "-c", "import engine").returncode == 1
    marks = folder.parent / "marks"
    assert marks.read_text() == "engine\n"
    marks.unlink()


def test_the_wheel_has_one_name_at_its_top(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        told = message_from_string(archive.read(metadata).decode())
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"zonelab"}
    assert {"zonelab/py.typed", "zonelab/scenarios/library/steady.yaml"} <= set(names)
    assert any(name.endswith(".lua") for name in names)
    assert told["Author"]
    assert told["Keywords"]
    assert len(told.get_all("Classifier", [])) > 5


def test_somebody_elses_cluster_stays(wheel: Path, tmp_path: Path) -> None:
    assert done(tmp_path, "python", "-c", "import cluster; print(cluster.HierarchicalClustering.__name__)")


def test_the_core_is_small_and_leaves_the_extras_out(wheel: Path, tmp_path: Path) -> None:
    (packages,) = (BIN.parent / "lib").glob("python*/site-packages")
    of_pip = re.compile(r"(pip|setuptools|pkg_resources|_distutils_hack|wheel)\b")
    files = (path for one in packages.iterdir() if not of_pip.match(one.name) for path in [one, *one.rglob("*")])
    size = sum(path.stat().st_size for path in files if path.is_file())
    assert size / 2**20 <= CORE_MIB_MAX
    looked = f"from importlib.util import find_spec; print([name for name in {ABSENT} if find_spec(name)])"
    assert done(tmp_path, "python", "-c", looked) == "[]\n"


def test_every_verb_helps(folder: Path) -> None:
    (folder / "zonelab.py").write_text(_leaves_a_mark(folder.parent / "marks"))
    assert "One run:" in done(folder, "zonelab", "--help")
    assert done(folder, "python", "-P", "-c", _EVERY_HELP, *VERBS) == "helped\n"
    assert "One run:" in done(folder, "python", "-P", "-m", "zonelab", "--help")


@pytest.mark.parametrize("where", ["sim", "process"])
def test_a_run(folder: Path, where: str) -> None:
    ended = run(folder, "zonelab", "run", "steady", "--on", where, "--set", "load.duration_s=2")
    assert ended.returncode in ((0,) if where == "sim" else (0, 2)), ended.stderr  # 2: a busy machine
    assert (folder / "runs/steady/latest/report.html").is_file()


def test_a_hunt_in_processes(folder: Path) -> None:
    (folder / "mine.py").write_text(MINE)
    (folder / "zonelab.py").write_text(_leaves_a_mark(folder.parent / "marks"))
    words = ("--queue", "mine:make", "--runs", "6", "--messages", "10", "--jobs", "2")
    ended = run(folder, "zonelab", "hunt", "steady", *words)
    assert ended.returncode in (0, 1), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "seed" in ended.stdout


def test_a_project_with_tests_of_its_own(folder: Path) -> None:
    (folder / "tests").mkdir()
    (example,) = re.findall(
        r"```python\n([^`]*class ListQueueMachine[^`]*)```", (ROOT / "docs/properties.md").read_text(encoding="utf-8")
    )
    (folder / "tests" / "test_mine.py").write_text(f"{example}\n\ndef test_another():\n    pass\n")
    told = done(folder, "python", "-m", "pytest", "tests", "-n", "2", "-p", "no:cacheprovider", PYTHONPATH=str(TOOLS))
    assert "2 passed" in told


def test_a_users_program_is_typed(folder: Path) -> None:
    (folder / "mine.py").write_text(TYPED)
    words = ("--strict", "--cache-dir", str(folder.parent / "mypy"), "mine.py")
    told = done(folder, "python", "-P", "-m", "mypy", *words, PYTHONPATH=str(TOOLS))
    revealed = re.findall(r'Revealed type is "(.*)"', told)
    assert len(revealed) == TYPED.count("reveal_type")
    assert [kind for kind in revealed if re.search(r"\bAny\b", kind)] == ["Any"]


IN_CONTAINERS = ("demo", "engines steady", "run steady", "replay x.yaml", "measure-service steady", "up")
ON_SPARK = ("hunt", "sweep", "matrix", "ablate", "limit", "evaluate")
NEED = {
    **{f"{line} --on docker": "docker" for line in IN_CONTAINERS},
    **{"evaluate --confirm docker": "docker", "image": "docker", "analyze runs": "spark"},
    **{f"{verb} {WORDS[verb]} --master local[2]": "spark" for verb in ON_SPARK},
    "replay failure.yaml": "testing",
}
"""Command lines, and the extra that each needs."""


def test_each_verb_names_the_extra_that_is_missing(folder: Path) -> None:
    (folder / "failure.yaml").write_text("choices: []\n")
    ended = run(folder, "python", "-P", "-c", _MISSING, given="\n".join(NEED))
    assert ended.returncode == 0, ended.stderr
    for (line, extra), answer in zip(NEED.items(), ended.stdout.splitlines(), strict=True):
        assert re.fullmatch(rf"64 zonelab: .* needs the extra {extra}: pip install 'zonelab\[{extra}\]'", answer), line

"""Which of their own tests the queues of others pass through a port of ``zonelab up``, and beside it on a plain server.

Needs Go for asynq, and a network to install the packages from. All is made in a temporary folder, which is removed: the
packages with their own tests, unchanged, and an environment of its own for each that is in Python. The tests of
taskiq-redis are not in its package: ``--taskiq-redis`` is a checkout of its repository; without it it is skipped.

A queue's tests run on a plain server and, level by level, at the first port of three zones, one after another. Of
``of`` tests ``passed`` did; ``differs``: what fails at a port and passes on the plain server, with the end of what it
said; ``refused``: so many of these say that the port refuses something by design; ``missing``: passed there, not run.

    .venv/bin/python benchmarks/guests/run.py [--only asynq ...] [--levels DC_ONE ...] [--taskiq-redis FOLDER]
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from environment import environment  # noqa: E402

from zonelab.cluster.real.zones import zones  # noqa: E402
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC  # noqa: E402

HOST = "127.0.0.1"
PLAIN = "plain server"
SUITE_S = 1800
"""A suite that takes longer is ended."""

_REFUSALS = re.compile(r"is not available|DB index is out of range|ERR strict")
_GO_RESULT = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)

ELSEWHERE = f'''
"""A plugin of pytest: what would connect to the default port of Redis connects to GUEST_PORT."""
import os
from redis.connection import Connection

_connect_by_default = Connection.__init__

def _connect(self, *arguments, **options):
    if not arguments and options.get("port", 6379) == 6379:
        options |= {{"host": "{HOST}", "port": int(os.environ["GUEST_PORT"])}}
    _connect_by_default(self, *arguments, **options)

Connection.__init__ = _connect
'''


@dataclass
class Outcome:
    """Outcome of one queue's tests at one place. ``said``: the end of what each failed test said, by its name."""

    passed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    said: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Guest:
    """A queue. ``install`` puts it with its tests into a folder, ``run`` runs these there against a port."""

    name: str
    version: str
    install: Callable[["Guest", Path], None]
    run: Callable[["Guest", Path, int], Outcome]
    needs: Sequence[str] = ()
    tests: Sequence[str] = ()


def called(*command: str | Path, folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Run a program; returns what it printed, whatever its exit code."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **(variables or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SUITE_S,
        check=False,
    )
    return done.stdout


def installed(*command: str | Path, folder: Path) -> str:
    """Run a program that must succeed; returns what it printed."""
    return subprocess.run(
        [str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def install_go(guest: Guest, folder: Path) -> None:
    (folder / "go.mod").write_text("module guests\n")
    told = json.loads(installed("go", "mod", "download", "-json", f"{guest.name}@{guest.version}", folder=folder))
    module = folder / "module"
    shutil.copytree(told["Dir"], module)
    for path in (module, *module.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for number, package in enumerate(guest.tests):
        installed("go", "test", "-c", "-o", folder / f"tests-{number}", f"./{package}", folder=module)


def run_go(guest: Guest, folder: Path, port: int) -> Outcome:
    outcome = Outcome()
    for number, package in enumerate(guest.tests):
        options = ("-test.v", f"-redis_addr={HOST}:{port}", "-redis_db=0")
        said = called(folder / f"tests-{number}", *options, folder=folder / "module" / package)
        found, begin = list(_GO_RESULT.finditer(said)), 0
        for result in found:
            test = f"{package} {result[2]}"
            if result[1] == "FAIL":
                outcome.said[test] = said[begin : result.end()].strip()
            else:
                (outcome.passed if result[1] == "PASS" else outcome.skipped).add(test)
            begin = result.end()
        if not found:
            outcome.said[package] = said
    return outcome


def install_python(guest: Guest, folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True)
    python, package = folder / "venv/bin/python", f"{guest.name}=={guest.version}"
    installed(python, "-m", "pip", "install", "-q", package, "redis", "pytest", *guest.needs, folder=folder)
    (folder / "guest_elsewhere.py").write_text(ELSEWHERE)
    source = folder / "source"
    if source.exists():
        return
    installed(python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", guest.name, package, folder=folder)
    [archive] = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder, filter="data")
    (folder / archive.name.removesuffix(".tar.gz")).rename(source)


def run_python(guest: Guest, folder: Path, port: int) -> Outcome:
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    variables = {
        "PYTHONPATH": str(folder),
        "GUEST_PORT": str(port),
        "REDIS_HOST": HOST,
        "REDIS_6379_TCP": str(port),
        "TEST_REDIS_URL": f"redis://{HOST}:{port}",
    }
    options = ("-q", "-p", "guest_elsewhere", "-p", "no:cacheprovider", f"--junitxml={report}")
    python = folder / "venv/bin/python"
    said = called(python, "-m", "pytest", *options, *guest.tests, folder=folder / "source", variables=variables)
    outcome = Outcome()
    if not report.exists():
        outcome.said["pytest"] = said
        return outcome
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        wrong = [child for child in case if child.tag in ("failure", "error")]
        if wrong:
            outcome.said[test] = str(wrong[0].get("message"))
        else:
            (outcome.skipped if case.find("skipped") is not None else outcome.passed).add(test)
    return outcome


GUESTS = (
    Guest(
        name="github.com/hibiken/asynq",
        version="v0.26.0",
        install=install_go,
        run=run_go,
        tests=(".", "internal/rdb"),
    ),
    Guest(
        name="kombu",
        version="5.7.0",
        install=install_python,
        run=run_python,
        tests=("t/integration/test_redis.py", "t/integration/test_redis_brpop_qos.py"),
    ),
    Guest(
        name="huey",
        version="3.5.4",
        install=install_python,
        run=run_python,
        tests=("huey/tests/test_storage.py", "-k", "Redis"),
    ),
    Guest(
        name="taskiq-redis",
        version="1.2.4",
        install=install_python,
        run=run_python,
        needs=("anyio", "freezegun", "fakeredis"),
        tests=("tests", "-k", "not cluster and not sentinel"),
    ),
)


@contextmanager
def plain_server() -> Iterator[int]:
    """Yields the port of a server of its own."""
    with asyncio.Runner() as runner:
        zone_set = zones("process", ["plain"])
        runner.run(zone_set.__aenter__())
        try:
            yield zone_set["plain"].address.port
        finally:
            runner.run(zone_set.__aexit__(None, None, None))


@contextmanager
def lab(level: str, folder: Path) -> Iterator[int]:
    """Yields the port of the first zone of ``zonelab up``."""
    zonelab = Path(sys.executable).with_name("zonelab")
    variables = {"ZONELAB_STATE": str(folder / "state"), "ZONELAB_PASSWORD": ""}
    words = ("up", "--port", "0", "--level", level, "--json", "--dir", folder / "runs")
    told = json.loads(called(zonelab, *words, folder=folder, variables=variables))
    try:
        yield int(told["zones"][0]["coordinator"]["address"].rpartition(":")[2])
    finally:
        called(zonelab, "down", folder=folder, variables=variables)


@contextmanager
def place(name: str, folder: Path) -> Iterator[int]:
    with plain_server() if name == PLAIN else lab(name, folder) as port:
        yield port


def row(guest: Guest, where: str, outcome: Outcome, plain: Outcome) -> dict[str, object]:
    """``differs``: tests that pass on the plain server and not here, with what they said."""
    differs = {test: said for test, said in outcome.said.items() if test in plain.passed}
    refused = {test for test, said in differs.items() if _REFUSALS.search(said)}
    return {
        "queue": guest.name.rpartition("/")[2],
        "version": guest.version,
        "at": where,
        "passed": len(outcome.passed),
        "of": len(outcome.passed) + len(outcome.said),
        "skipped": len(outcome.skipped),
        "refused": len(refused),
        "missing": sorted(plain.passed - outcome.passed - set(differs)),
        "differs": {test: said[-600:] for test, said in sorted(differs.items())},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {guest.name.rpartition("/")[2]: guest for guest in GUESTS}
    levels = [level.value for level in LEVELS_OF_ONE_DC]
    parser.add_argument("--only", nargs="+", choices=list(names), default=list(names))
    parser.add_argument("--levels", nargs="+", choices=levels, default=levels)
    parser.add_argument("--taskiq-redis", type=Path, help="a checkout of its repository, for its tests")
    options = parser.parse_args()
    print(json.dumps(environment()))
    for name in options.only:
        guest = names[name]
        lacks = "Go" if guest.run is run_go and shutil.which("go") is None else None
        lacks = "--taskiq-redis FOLDER" if name == "taskiq-redis" and options.taskiq_redis is None else lacks
        if lacks is not None:
            print(json.dumps({"queue": name, "skipped": f"needs {lacks}"}))
            continue
        with tempfile.TemporaryDirectory(prefix="guests-") as made:
            folder = Path(made)
            if name == "taskiq-redis":
                shutil.copytree(options.taskiq_redis / "tests", folder / "source/tests")
            guest.install(guest, folder)
            plain = None
            for where in (PLAIN, *options.levels):
                with place(where, folder) as port:
                    outcome = guest.run(guest, folder, port)
                plain = plain or outcome
                print(json.dumps(row(guest, where, outcome, plain)), flush=True)


if __name__ == "__main__":
    main()

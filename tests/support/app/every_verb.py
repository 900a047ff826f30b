"""Every verb of the command line, as the command line itself lists them, and words with which each has little to do."""

from collections.abc import Iterator
from typing import Any

import typer

from zonelab.app.cli.app import app

SLOW_TO_LOAD = {"docker", "lupa", "matplotlib", "numpy", "pyarrow", "pyspark", "rich", "scipy", "simpy"}


def _verbs(command: Any, *path: str) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path)
        return
    for name, one in inner.items():
        yield from _verbs(one, *path, name)


VERBS = tuple(_verbs(typer.main.get_command(app)))

WORDS = {
    "demo": "--on sim",
    "scenarios": "",
    "engines": "",
    "run": "short.yaml --on sim",
    "try": "--producer true --worker true",
    "replay": "short.yaml",
    "share": "short.yaml",
    "hunt": "short.yaml --runs 1 --messages 5",
    "sweep": "short.yaml --runs 1",
    "shrink": "short.yaml",
    "evaluate": "--runs 28 --zones 2",
    "verify": "rollout.yaml --history runs/short/latest",
    "new": "rollout",
    "matrix": "--runs 1 --level DC_ONE --faults none --mode default",
    "ablate": "--runs 1 --off lease-nx",
    "limit": "short.yaml --runs 1",
    "pbs": "--model lnkd-ssd --trials 100",
    "measure-lag": "127.0.0.1:1 --for 100ms",
    "measure-service": "short.yaml --runs 2",
    "check": "runs/short/latest",
    "judge": "--schema",
    "report": "runs/short/latest",
    "lens": "runs/short/latest a-000000",
    "diff": "runs/short/latest runs/short/latest",
    "export": "runs/short/latest --as csv",
    "partitions": "runs/short/latest",
    "plot": "runs/short/latest --kind rate",
    "compare": "runs/short/latest runs/short/latest",
    "index": "",
    "analyze": "runs/short/latest",
    "known run": "rq-1716 --runs 1",
    "known table": "",
    "known clean": "",
    "up": "--zones 1 --port 0",
    "status": "",
    "monitor": "",
    "heal": "",
    "down": "",
    "image": "",
    "fault cut": "a",
    "fault clog": "a",
    "fault lag": "a constant:5ms",
    "fault loss": "a 0.1",
    "fault duplicate": "a 0.1",
    "fault slow": "a 4",
    "fault pause": "a",
    "fault memory": "a",
    "fault disk_full": "a",
    "fault kill": "a",
    "fault wipe": "a",
    "fault restart": "a",
    "fault end": "1",
    "fault coordinator_crash": "a",
    "fault coordinator_pause": "a",
    "fault port_crash": "a",
    "fault port_pause": "a",
    "gmq start": "",
    "gmq status": "",
    "gmq stop": "",
}
"""By verb. A scenario lies in ``short.yaml`` and its run below ``runs``, if there is one."""

ELSEWHERE = {
    *("demo", "evaluate", "measure-lag", "measure-service", "analyze", "image"),
    *("known run", "known clean", "try", "replay", "share", "shrink", "partitions", "verify"),
    *("up", "status", "monitor", "heal", "gmq start"),
    *(verb for verb in VERBS if verb.startswith("fault ")),
}
"""Verbs that with these words print an error on stderr and nothing else, or that need servers, Spark or minutes."""


def line(verb: str) -> list[str]:
    return [*verb.split(), *WORDS[verb].split()]

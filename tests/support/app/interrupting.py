"""The command line as a process that gets Ctrl-C, or another signal, at one import, or after its verb has ended."""

import os
import subprocess
from pathlib import Path

from support.programs import HANGS_S
from support.scenarios.short_runs import zonelab_command

_HOOK = """
import atexit, contextlib, os, signal, sys
AT_VERB, BEFORE_VERB = os.environ["INTERRUPT_AT"] == "the verb", "zonelab.app.cli.verb_groups"
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"] or (AT_VERB and BEFORE_VERB in sys.modules):
            sys.meta_path.remove(self)
            with contextlib.suppress(*[KeyboardInterrupt] * ("SWALLOWED" in os.environ)):
                atexit.register(interrupt) if "INTERRUPT_LATER" in os.environ else interrupt()
def interrupt():
    os.kill(os.getpid(), getattr(signal, os.environ.get("INTERRUPT_BY", "SIGINT")))
class Freed:
    def __del__(self, kill=os.kill, me=os.getpid(), interrupt=signal.SIGINT):
        kill(me, interrupt)
def at_call(frame, event, arg):
    if frame.f_code.co_name == os.environ["INTERRUPT_AT"]:
        sys.setprofile(None)
        Freed()
if "WHERE_NOTHING_RAISES" in os.environ:
    sys.setprofile(at_call)
if os.environ["INTERRUPT_AT"] == "the end":
    sys.freed_last = Freed()
if ("--multiprocessing-fork" in sys.orig_argv) == ("IN_WORKERS" in os.environ):
    sys.meta_path.insert(0, Interrupting())
"""


def interrupted(directory: Path, *words: str, at: str, **changes: str) -> tuple[int, str]:
    """Exit code and stderr.

    ``at``: the name of a module, "the verb" (the first that it imports), or "the end"; with ``WHERE_NOTHING_RAISES`` a
    function's name. ``INTERRUPT_BY``: another signal than SIGINT. With ``SWALLOWED`` the import takes what Ctrl-C
    raises in it and goes on.
    """
    (directory / "sitecustomize.py").write_text(_HOOK)
    done = subprocess.run(
        zonelab_command(*words),
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": str(directory),
            "ZONELAB_STATE": str(directory),
            "INTERRUPT_AT": at,
            **changes,
        },
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    return done.returncode, done.stderr

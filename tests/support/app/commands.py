"""The ``zonelab`` command within the test's own process: what a new process would only spend on imports is saved."""

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from support.analysis.figures import left_blank

from zonelab.analysis.figures import plot_style
from zonelab.app.cli.main import run_cli


@dataclass(frozen=True)
class Done:
    """Named as in ``subprocess.CompletedProcess``."""

    returncode: int
    stdout: str
    stderr: str


def zonelab_here(*arguments: str, cwd: Path, columns: int | None = None) -> Done:
    """Run one command line in ``cwd``, on a terminal of so many columns, or on none.

    Figures are drawn if they are what the verb is for; those of reports are left blank.
    """
    out, err = io.StringIO(), io.StringIO()
    told = {} if columns is None else {"COLUMNS": str(columns)}
    without = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    save = plot_style.save if arguments[0] in ("plot", "compare") else left_blank
    with (
        contextlib.chdir(cwd),
        patch.object(plot_style, "save", save),
        patch.dict(os.environ, without | told, clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run_cli(arguments)
    return Done(code, out.getvalue(), err.getvalue())

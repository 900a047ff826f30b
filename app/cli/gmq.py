"""``zonelab gmq``: start, show and stop the service.

Exit codes: 0 done, 2 interrupted, 3 it failed, 64 bad usage or a configuration that is not accepted.
"""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from zonelab.app.cli.options import AsJson
from zonelab.app.cli.verb_groups import Verb, VerbGroups
from zonelab.app.terminal.json_output import print_json

app = typer.Typer(
    cls=VerbGroups, help="A delay queue as a service, for programs of any language.", rich_markup_mode=None
)

Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Configuration in the form of gmq's conf.ini, with more settings.",
        show_default="gmq.ini if it is there",
    ),
]


@app.command(cls=Verb)
def start(
    *,
    config: Config = None,
    compat: Annotated[bool, typer.Option("--compat", help="Behave as gmq v1.0, with its defects.")] = False,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay in the foreground and serve until Ctrl-C or SIGTERM.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve gmq's JSON-RPC, Youzan's HTTP and the web monitor's JSON on a Redis or Valkey server."""
    settings = _settings(config, compat=compat)

    def tell(facts: dict[str, Any]) -> None:
        if as_json:
            print_json(facts)
        else:
            typer.echo(_line(facts))

    if foreground:
        from zonelab.app.cli.exits import LabError
        from zonelab.app.gmq_service.process.program import run

        if not run(settings, console=True, ready=tell):
            raise LabError("jobs in hand were left behind: the log says which")
        return
    from zonelab.app.gmq_service.process.launch import start as launch

    path = _path(config)
    arguments = [] if path is None else ["--config", str(path)]
    tell(launch(settings, arguments=[*arguments, *(["--compat"] if compat else [])]))


@app.command(cls=Verb)
def status(*, config: Config = None, as_json: AsJson = False) -> None:
    """Show whether the service runs, and where."""
    from zonelab.app.gmq_service.process.launch import status as look

    facts = look(_settings(config))
    if as_json:
        print_json(facts)
    elif facts["running"]:
        typer.echo(_line(facts))
    elif facts["stale"]:
        typer.echo(f"no service runs; one that was killed left {facts['pid_file']}")
    else:
        typer.echo("no service runs")


@app.command(cls=Verb)
def stop(*, config: Config = None, as_json: AsJson = False) -> None:
    """Stop the service after it has finished the jobs in hand. Does nothing if none runs."""
    from zonelab.app.gmq_service.process.launch import stop as end

    pid = end(_settings(config))
    if as_json:
        print_json({"stopped": pid})
    else:
        typer.echo("no service runs" if pid is None else f"stopped (pid {pid})")


def _path(config: Path | None) -> Path | None:
    from zonelab.app.gmq_service.conf_ini import CONFIG_DEFAULT

    return config if config is not None or not CONFIG_DEFAULT.exists() else CONFIG_DEFAULT


def _settings(config: Path | None, *, compat: bool = False) -> Any:
    from zonelab.app.gmq_service.conf_ini import TOKEN_VARIABLE, read_settings

    return read_settings(_path(config), compat=compat, token=os.environ.get(TOKEN_VARIABLE) or None)


def _line(facts: dict[str, Any]) -> str:
    where = ", ".join(f"{what} at {facts[what]}" for what in ("rpc", "api", "web") if facts.get(what))
    return f"gmq runs (pid {facts['pid']}, mode {facts.get('mode')}): {where}; server {facts.get('redis')}"

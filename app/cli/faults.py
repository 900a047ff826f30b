"""The verbs that break something in a cluster that is up: ``zonelab fault …``, one for every kind of fault."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any, get_args

import typer

from zonelab.app.cli.options import AsJson
from zonelab.app.cli.session import control, show_done
from zonelab.app.cli.verb_groups import Verb, VerbGroups
from zonelab.app.terminal.json_output import print_json
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted

For = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="End the fault after this time, e.g. 10s; if not given it lasts until zonelab heal.",
    ),
]
Links = Annotated[
    str,
    typer.Argument(
        metavar="LINKS", help="b: all links from and to b; a:b: both ways; 'a>b': one way; all: every link."
    ),
]
Zone = Annotated[str, typer.Argument(metavar="ZONE", help="The name of a zone: a, b, …")]


class FaultVerbs(VerbGroups):
    """A verb for every kind of fault, made of its class when one of them is asked for, and those written here."""

    _written: dict[str, Any]
    _made: dict[str, Any]

    @property
    def commands(self) -> Any:
        if not self._made:
            self._made = {**_verbs_of_kinds(), **self._written}
        return self._made

    @commands.setter
    def commands(self, written: Any) -> None:
        self._written, self._made = written, {}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb that ``args`` begins with. Raises ``NotAccepted`` for a fault that a cluster cannot have."""
        from zonelab.scenarios.faults.catalogue import CLASSES

        if args[0] in CLASSES and args[0] not in self.commands:
            one = CLASSES[args[0]]
            fields = ", ".join(name for name in one.model_fields if name != "kind")
            why = f"a cluster of zonelab up cannot have {args[0]}: {one.not_up}"
            raise NotAccepted(f"{why}. Its fields in a scenario: {fields}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=FaultVerbs,
    help="Break something: links, servers or coordinators. Faults may be combined.",
    rich_markup_mode=None,
)


@app.command(cls=Verb)
def restart(
    zone: Zone,
    *,
    wipe: Annotated[bool, typer.Option("--wipe", help="Restart it without data.")] = False,
    warm: Annotated[bool, typer.Option("--warm", help="Restart it with a copy of a running zone's data.")] = False,
    coordinator: Annotated[
        bool, typer.Option("--coordinator", help="Restart the coordinator, which has no data, not the server.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Restart a zone's server, or its coordinator, whether killed before or not; a server keeps its data by default."""
    if wipe + warm + coordinator > 1:
        raise NotAccepted("--wipe, --warm and --coordinator exclude each other")
    body = {"what": "coordinator" if coordinator else "zone", "target": zone}
    if not coordinator:
        body["mode"] = "wipe" if wipe else "warm" if warm else "keep"
    show_done(control().post("/restart", body)["done"], as_json=as_json)


@app.command(cls=Verb)
def end(
    number: Annotated[int, typer.Argument(help="The number that zonelab status shows before the colon.")],
    *,
    as_json: AsJson = False,
) -> None:
    """End one fault."""
    show_done([f"ended {name}" for name in control().post("/faults/end", {"number": number})["done"]], as_json=as_json)


def _verbs_of_kinds() -> dict[str, Any]:
    from zonelab.scenarios.faults.catalogue import UP

    verbs = typer.Typer(rich_markup_mode=None)
    for kind, fault_class in UP.items():
        verbs.command(kind, cls=Verb)(_verb(kind, fault_class))
    return dict(typer.main.get_group(verbs).commands)


def _verb(kind: str, fault_class: Any) -> Callable[..., None]:
    """Return the function of the verb: its target, how much of the fault, options for what else the class has."""
    from zonelab.analysis.yaml_text import NotYaml, read_yaml
    from zonelab.scenarios.faults.catalogue import amounts_of
    from zonelab.scenarios.faults.fault import ClusterPart

    fields = amounts_of(fault_class)

    def value(name: str, text: str) -> Any:
        try:
            return text if fields[name].annotation is str else read_yaml(text)
        except NotYaml:
            return text

    def verb(target: str, for_: str | None, as_json: bool, **texts: str | None) -> None:  # noqa: FBT001 - by name only
        amounts = {name: value(name, text) for name, text in texts.items() if text is not None}
        for_s = None if for_ is None else parse_duration_s(for_)
        begun = control().post("/faults", {"kind": kind, "target": target, "for_s": for_s, **amounts})["done"]
        if as_json:
            print_json(begun)
        else:
            typer.echo(f"{begun['fault']}, {'until zonelab heal' if for_s is None else f'for {for_s:g} s'}")

    def parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
        return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)

    parameters = [parameter("target", Links if fault_class.part is ClusterPart.LINKS else Zone)]
    for name, field in fields.items():
        if name == fault_class.amount_field:
            argument = typer.Argument(metavar=name.upper(), help=field.description)
            parameters.insert(1, parameter(name, Annotated[str, argument]))
        else:
            choices = get_args(field.annotation) or getattr(field.annotation, "__members__", {}).values()
            values = "|".join(map(str, choices)) or "VALUE"
            option = typer.Option(f"--{name.replace('_', '-')}", metavar=values, help=field.description)
            parameters.append(parameter(name, Annotated[str | None, option], None))
    parameters += [parameter("for_", For, None), parameter("as_json", AsJson, False)]  # noqa: FBT003
    verb.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    verb.__annotations__ = {one.name: one.annotation for one in parameters}
    verb.__doc__ = fault_class.__doc__
    return verb

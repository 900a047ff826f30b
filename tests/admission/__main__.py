"""``python -m admission``: try every interleaving with all mechanisms, and with each of them off.

Exit codes: 0; 1 if something is wrong with all mechanisms on, or nothing is wrong without one of them; 2 if the command
line cannot be used; 3 if a search was given up.
"""

import argparse
import sys
from collections.abc import Sequence

from admission.mechanisms import BOUNDS, COUNTEREXAMPLES, PARTS, Mechanism, World, found_in
from admission.search import Result, TooManyStates, search

FAILED, GIVEN_UP, INTERRUPTED = 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        if options.record:
            COUNTEREXAMPLES.write_text(_recorded(options.states), encoding="utf-8")
            return 0
        if options.off:
            names = ", ".join(mechanism.value for mechanism in options.off)
            bounds = options.bounds or PARTS[options.off[0]].bounds
            return 0 if _searched(f"without {names}", bounds, options.off, options.states) else FAILED
        every = [_searched("all on", name, [], options.states) for name in [options.bounds] if name] or [
            *(_searched("all on", name, [], options.states) for name in BOUNDS),
            *(not _searched(_title(part), PARTS[part].bounds, [part], options.states) for part in PARTS),
        ]
    except TooManyStates as error:
        sys.stderr.write(f"error: {error}; --states N looks further\n")
        return GIVEN_UP
    except KeyboardInterrupt:
        return INTERRUPTED
    return FAILED if any(every) else 0


def _recorded(states_max: int) -> str:
    ways = {part: search(World(bounds=found_in(part)).without(part), states_max=states_max).choices for part in PARTS}
    return "{\n" + ",\n".join(f'  "{part.value}": {list(way)}' for part, way in ways.items()) + "\n}\n"


def _title(part: Mechanism) -> str:
    return f"without {part.value} ({PARTS[part].numeral}): {PARTS[part].off}"


def _searched(title: str, bounds: str, off: Sequence[Mechanism], states_max: int) -> bool:
    """Whether something was wrong."""
    _tell(f"== {title}; bounds {bounds!r}")
    result = search(World(bounds=BOUNDS[bounds]).without(*off), states_max=states_max)
    _tell(_story(result))
    return bool(result.wrong)


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _story(result: Result) -> str:
    seen = f"{result.states:,} states, {result.steps:,} steps, {result.depth} deep, {result.processor_s:.0f} s"
    if not result.wrong:
        return f"   every state seen, nothing wrong: {seen}"
    lines = [f"   {number:2} {text}" for number, text in enumerate(result.trace, start=1)]
    return "\n".join([*lines, f"   WRONG: {result.wrong}", f"   found after {seen}"])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m admission", description=__doc__.splitlines()[0])
    parser.add_argument("--bounds", choices=BOUNDS, help="how much may happen (default: all bounds, one after another)")
    parser.add_argument(
        *("--off",),
        action="append",
        choices=[part.value for part in Mechanism],
        default=[],
        metavar="MECHANISM",
        help=f"only without this one, may be given again: {', '.join(part.value for part in Mechanism)}",
    )
    parser.add_argument("--states", type=int, default=5_000_000, help="give up beyond so many (default: 5000000)")
    parser.add_argument("--record", action="store_true", help="keep the ways to counterexamples, which tests go again")
    options = parser.parse_args(arguments)
    options.off = [Mechanism(name) for name in options.off]
    if options.off and not options.bounds and options.off[0] not in PARTS:
        parser.error(f"--off {options.off[0].value} needs --bounds: one of {', '.join(BOUNDS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())

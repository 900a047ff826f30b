"""Tests that are coroutines: what runs one gives it an argument that is no fixture."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

T = TypeVar("T")


def given(
    argument: str, carry_out: Callable[[Callable[[Any], Any]], T]
) -> Callable[[Callable[..., Any]], Callable[..., T]]:
    """A decorator. ``carry_out`` runs the coroutine that it gets by calling its function with the argument's value."""

    def decorate(test: Callable[..., Any]) -> Callable[..., T]:
        @wraps(test)
        def carried_out(*own: Any, **fixtures: Any) -> T:
            return carry_out(lambda value: test(*own, **fixtures, **{argument: value}))

        asked = signature(test)
        left = [each for name, each in asked.parameters.items() if name != argument]
        carried_out.__signature__ = asked.replace(parameters=left)  # type: ignore[attr-defined]
        return carried_out

    return decorate


def coroutine(test: Callable[..., Any]) -> Callable[..., None]:
    """A decorator for a test that is carried out by the fixture ``run``, a function that takes a coroutine."""

    @wraps(test)
    def carried_out(*, run: Callable[[Any], Any], **fixtures: Any) -> None:
        run(test(**fixtures))

    asked = signature(test)
    run = Parameter("run", Parameter.KEYWORD_ONLY)
    carried_out.__signature__ = asked.replace(parameters=[*asked.parameters.values(), run])  # type: ignore[attr-defined]
    return carried_out

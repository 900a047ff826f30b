"""Tests that are coroutines: what carries one out may give it an argument that is no fixture; and how they wait."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

T = TypeVar("T")
Test = Callable[..., Any]

PATIENCE_S = 60.0


async def until(condition: Callable[[], Any]) -> None:
    """Wait until ``condition()`` holds. Raises ``TimeoutError`` if it does not within ``PATIENCE_S``."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (conditions of other people's making have no event)
            await asyncio.sleep(0.001)


def given(argument: str, carry_out: Callable[[Test], T]) -> Callable[[Test], Callable[..., T]]:
    """A decorator. ``carry_out`` runs the coroutine that it gets by calling its function with the argument's value."""

    def decorate(test: Test) -> Callable[..., T]:
        @wraps(test)
        def carried_out(*own: Any, **fixtures: Any) -> T:
            return carry_out(lambda value: test(*own, **fixtures, **{argument: value}))

        return _asking(carried_out, *_parameters(test, argument))

    return decorate


def coroutine(test: Test) -> Test:
    """A decorator for a test that is carried out by the fixture ``run``, a function that takes a coroutine."""

    @wraps(test)
    def carried_out(*, run: Callable[[Any], Any], **fixtures: Any) -> None:
        run(test(**fixtures))

    return _asking(carried_out, *_parameters(test), Parameter("run", Parameter.KEYWORD_ONLY))


def within(argument: str, opened: Callable[[], AbstractAsyncContextManager[Any]]) -> Callable[[Test], Test]:
    """As ``coroutine``, and the test gets as ``argument`` what is open meanwhile."""

    def decorate(test: Test) -> Test:
        @wraps(test)
        async def inside(**fixtures: Any) -> None:
            async with opened() as value:
                await test(**fixtures, **{argument: value})

        return coroutine(_asking(inside, *_parameters(test, argument)))

    return decorate


def _parameters(test: Test, *left_out: str) -> list[Parameter]:
    return [each for name, each in signature(test).parameters.items() if name not in left_out]


def _asking(test: Test, *parameters: Parameter) -> Test:
    """``test``, of which pytest believes that it has these parameters."""
    test.__signature__ = signature(test).replace(parameters=parameters)  # type: ignore[attr-defined]
    return test

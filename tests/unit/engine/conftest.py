"""Where the engine's tests take place: one simulated server without lag."""

import inspect

import pytest
from support.cluster.sim_lab import simulated_lab


@pytest.fixture(scope="module")
def lab():
    with simulated_lab("a", lag="0") as lab:
        yield lab


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test that is a coroutine is run by its first parameter."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    next(iter(given.values())).run(pyfuncitem.obj(**given))
    return True

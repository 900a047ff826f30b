"""Goal: the lint of the simulation catches every way out of the seed's hands. Method: planted sources."""

import pytest
from support.purity import impurities

FOREIGN = """
import time
import asyncio.events
import threading
import _thread
import queue
import importlib
import os
import random
import random as chance
import numpy.random
from time import monotonic_ns
from uuid import uuid4
from datetime import datetime
from threading import Thread
from os import urandom
from random import random
from random import Random, choice
from random import SystemRandom
from numpy import random
x = np.random.default_rng()
x = __import__('time')
x = hash('x')
x = words.__hash__()
x = sorted(y, key=id(y))
x = Random()
""".strip().splitlines()

ITERATIONS = """
for x in {1, 2}: pass
for x in set(y): pass
z = [x for x in frozenset(y)]
z = {x: 1 for x in set(y)}
for x in set(y) | z: pass
for x in z - {1}: pass
for x in a.keys() & b.keys(): pass
for x in {1}.union(y): pass
for x in {1} if y else (): pass
for x in y or {1}: pass
for i, x in enumerate({1}): pass
z = list({1, 2})
z = next(iter({1, 2}))
z = dict.fromkeys({1, 2})
z = ','.join({'a', 'b'})
z = sum({0.1, 0.2})
z = sorted({1, -1}, key=abs)
z = [*{1, 2}]
f(*{1, 2})
a, b = {1, 2}
z = {1, 2}.pop()
y = {1}; z = list(y)
y: set[str] = f(); z = [x for x in y]
y: frozenset[str] | None = f(); z = tuple(y or ())
y = {1}; z = y; w = list(z)
f(y := {1}, list(y))
""".strip().splitlines()

OVER_LINES = [
    "class C:\n    def __init__(self): self.x = set()\n    def g(self): return list(self.x)",
    "@dataclass\nclass C:\n    x: set[int]\n    def g(self):\n        for y in self.x: pass",
    "def f(x: collections.abc.Set[str]):\n    return [y for y in x]",
    "def f() -> frozenset[str]: ...\ndef g():\n    yield from f()",
    "async def f(x: AbstractSet[str]):\n    async for y in x: pass",
]

PURE = """
from random import Random
x = Random(1)
for x in sorted({1, 2}): pass
__hash__ = Exception.__hash__
x = 1 in {1, 2}
x = len({1, 2}) + max({1, 2})
x = {1, 2} == set(y)
for x in a.keys(): pass
for x in a - b: pass
x = [1].pop()
x = {}.pop('a')
x = np.longdouble(1)
x = sum([0.1, 0.2])
""".strip().splitlines()


@pytest.mark.parametrize("source", [*FOREIGN, *ITERATIONS])
def test_an_impurity_is_found(source):
    assert [line for line, _ in impurities(source)] == [1]


@pytest.mark.parametrize("source", OVER_LINES)
def test_an_iteration_over_a_name_that_is_a_set_elsewhere_is_found(source):
    assert [what for _, what in impurities(source)] == ["iteration over a set"]


@pytest.mark.parametrize("source", PURE)
def test_what_is_pure_passes(source):
    assert impurities(source) == []


def test_every_impurity_of_a_module_is_told_with_its_line():
    found = impurities("import time\nx = {1}\n\nfor y in x:\n    hash(y)\n")
    assert found == [(1, "import time"), (4, "iteration over a set"), (5, "hash()")]

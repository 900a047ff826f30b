"""Faults of the links between coordinators and servers of other zones."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from random import Random
from typing import ClassVar, Literal

from zonelab.cluster.fields import CountFrom0, Positive, Problem
from zonelab.cluster.links.link import Cut, Link
from zonelab.engine.ports import Timer
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.faults.fault import (
    Action,
    Changes,
    Choices,
    ClusterPart,
    Fault,
    Stage,
    Targets,
    links_named,
    no_link,
    no_server,
    part_drawn,
)

_TURN_LEAST_S = 0.05

Pairs = tuple[tuple[str, str], ...]
Undo = Callable[[], None]


class CutMode(StrEnum):
    """A cut link's treatment of what is sent: lose it, or keep it until the link is mended."""

    DROP = "drop"
    HOLD = "hold"


class OfLinks(Fault):
    """A fault of some links."""

    between_zones = True

    @abstractmethod
    def links(self, targets: Targets) -> Pairs:
        """Those that it changes, in the order of the topology."""

    def holds(self, targets: Targets) -> set[str]:
        return cut_of(self.links(targets))


class EachLink(OfLinks):
    """A fault that does the same to each of some links, at the same time."""

    part: ClassVar[ClusterPart | None] = ClusterPart.LINKS

    @abstractmethod
    def change(self, link: Link) -> Undo:
        """Let it happen to this link; what is returned ends it."""

    def action(self, stage: Stage) -> Action:
        links = [stage.testbed.links[pair] for pair in self.links(stage.targets)]
        undone: list[Undo] = []

        async def begin() -> None:
            undone.extend([self.change(link) for link in links])

        async def end() -> None:
            for undo in undone:
                undo()

        return Action(begin, end)


class LinksFault(EachLink):
    """Something about some links; with neither zone nor link, about every link."""

    where = ("zone", "link")

    zone: str | None = None
    """Every link from and to this zone."""
    link: str | None = None
    """One link, ``a>b``, or both between two zones, ``a:b``."""
    kind: str

    @property
    def target(self) -> str:
        return self.link or self.zone or "all links"

    def links(self, targets: Targets) -> Pairs:
        return around(targets, self.zone) if self.link is None else links_named(self.link)

    def holds(self, targets: Targets) -> set[str]:
        return _held(self.kind, self.links(targets))

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        if self.zone is not None and self.link is not None:
            yield Problem.of(f"{path}.link", self.link, "zone or link, not both")
        yield from no_server(targets, f"{path}.zone", self.zone)
        yield from no_link(targets, f"{path}.link", self.link, both_ways=True)

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        of_zone = random.random() < 0.5 or link is None
        target: Changes = {"zone": zone, "link": None} if of_zone else {"zone": None, "link": link}
        return {**target, **self._extent(part_drawn(random), random)}

    @classmethod
    def places(cls, targets: Targets) -> dict[str, Choices]:
        return {"link": _written(targets), "zone": targets.zones}

    @classmethod
    def anywhere(cls, targets: Targets) -> dict[str, Choices]:
        return {"link": _both_ways(targets), "zone": targets.zones}


class Clog(LinksFault):
    """Hold back all that links carry, without an error; when the fault ends it arrives."""

    colour = "#c5b0d5"
    harm = 7

    kind: Literal["clog"]

    @property
    def link_state(self) -> dict[str, object]:
        return {"cut": Cut.HOLD}

    def holds(self, targets: Targets) -> set[str]:
        return cut_of(self.links(targets))

    def change(self, link: Link) -> Undo:
        link.cut(Cut.HOLD)
        return link.mend


class Flap(LinksFault):
    """Links that go down and up in turn: reset as with ``cut``, mended, and reset again."""

    part = None
    not_up = "cut its links for a while, time and again: zonelab fault cut LINKS --for TIME"
    colour = "#a55194"
    harm = 8

    kind: Literal["flap"]
    down_s: Positive = 1.0
    up_s: Positive = 1.0

    @property
    def amount(self) -> str:
        return f"{self.down_s:g} s down, {self.up_s:g} s up"

    def holds(self, targets: Targets) -> set[str]:
        return cut_of(self.links(targets))

    def change(self, link: Link) -> Undo:
        link.cut(Cut.DROP)
        return link.mend

    def action(self, stage: Stage) -> Action:
        runtime = stage.testbed.runtime
        links = [stage.testbed.links[pair] for pair in self.links(stage.targets)]
        down_ns, up_ns = round(self.down_s * NS_PER_S), round(self.up_s * NS_PER_S)
        timers: list[Timer] = []

        def turn(down: bool) -> None:  # noqa: FBT001 - a state, by turns
            timers[:] = [runtime.call_later(down_ns if down else up_ns, lambda: turn(not down))]
            for link in links:
                if down:
                    self.change(link)
                else:
                    link.mend()

        async def begin() -> None:
            turn(True)  # noqa: FBT003

        async def end() -> None:
            for timer in timers:
                timer.cancel()
            for link in links:
                link.mend()

        return Action(begin, end)

    def milder(self) -> Iterator[Changes]:
        if self.down_s > _TURN_LEAST_S:
            yield {"down_s": round(self.down_s / 2, 3)}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"down_s": (0.05, 0.3), "up_s": (0.3, 0.05)}


class SwizzleClog(OfLinks):
    """Links are clogged one after another, and freed one after another in another order.

    In the first half of the time one after another begins, in the second one after another ends.
    """

    not_up = "clog the links one after another instead"
    colour = "#5e3c99"
    harm = 7

    kind: Literal["swizzle_clog"]
    zone: str | None = None
    """Every link from and to this zone; every link if not given."""
    order: CountFrom0 = 0
    """Stands for both orders: each number, with the scenario's seed, gives others."""

    @property
    def target(self) -> str:
        return self.zone or "all links"

    def links(self, targets: Targets) -> Pairs:
        return around(targets, self.zone)

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from no_server(targets, f"{path}.zone", self.zone)

    def action(self, stage: Stage) -> Action:
        runtime, links = stage.testbed.runtime, [stage.testbed.links[pair] for pair in self.links(stage.targets)]
        random, half_ns = runtime.random(f"swizzle {self.order}"), round(self.for_s * NS_PER_S) // 2
        timers: list[Timer] = []

        def change(after_ns: int, one: Callable[[], None]) -> None:
            if after_ns:
                timers.append(runtime.call_later(after_ns, one))
            else:
                one()

        async def begin() -> None:
            for link, at_ns in _in_any_order(links, random, half_ns, first=0):
                change(at_ns, partial(link.cut, Cut.HOLD))
            for link, at_ns in _in_any_order(links, random, half_ns, first=1):
                change(half_ns + at_ns, link.mend)

        async def end() -> None:
            for timer in timers:
                timer.cancel()
            for link in links:
                link.mend()

        return Action(begin, end)

    def _extent(self, part: float, random: Random) -> Changes:
        return {"order": random.randrange(1_000_000)}

    def milder(self) -> Iterator[Changes]:
        if self.order:
            yield {"order": 0}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"order": (range(1_001),)}


class CutFault(EachLink):
    """Cut links: their connections are reset, and sends fail at once."""

    where = ("isolate", "halves", "one_way", "link")
    colour = "#9467bd"
    harm = 8

    kind: Literal["cut"]
    mode: CutMode = CutMode.DROP
    """With ``hold`` what is sent arrives when the links are mended."""
    isolate: str | None = None
    """A zone: every link from and to it. One of ``isolate``, ``halves``, ``one_way`` and ``link`` is given."""
    halves: tuple[str, ...] | None = None
    """The zones of one side: every link between them and the others."""
    one_way: str | None = None
    """One link, ``a>b``."""
    link: str | None = None
    """Both links between two zones, ``a:b``."""

    @property
    def target(self) -> str:
        return self.isolate or self.one_way or self.link or f"{','.join(self.halves or ())}|rest"

    @property
    def link_state(self) -> dict[str, object]:
        return {"cut": Cut(self.mode)}

    def links(self, targets: Targets) -> Pairs:
        if (named := self.one_way or self.link) is not None:
            return links_named(named)
        side = (self.isolate,) if self.isolate is not None else self.halves or ()
        return tuple(link for link in targets.links_all if (link[0] in side) != (link[1] in side))

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        given = [name for name in self.where if getattr(self, name) is not None]
        if len(given) != 1:
            yield Problem(path, f"got {' and '.join(given) or 'no target'}; accepted: one of {', '.join(self.where)}")
        yield from no_server(targets, f"{path}.isolate", self.isolate)
        yield from no_link(targets, f"{path}.one_way", self.one_way)
        yield from no_link(targets, f"{path}.link", self.link, both_ways=True)
        for index, zone in enumerate(self.halves or ()):
            yield from no_server(targets, f"{path}.halves[{index}]", zone)
        if self.halves is not None and not 0 < len(set(self.halves) & set(targets.servers)) < len(targets.servers):
            yield Problem.of(f"{path}.halves", list(self.halves), "some zones, but not all")

    def change(self, link: Link) -> Undo:
        link.cut(Cut(self.mode))
        return link.mend

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        nowhere: Changes = dict.fromkeys(self.where)
        isolated, one_way = {**nowhere, "isolate": zone}, {**nowhere, "one_way": link}
        return random.choice([isolated, one_way] if link else [isolated])

    @classmethod
    def places(cls, targets: Targets) -> dict[str, Choices]:
        return {"one_way": _written(targets), "isolate": targets.zones}

    @classmethod
    def anywhere(cls, targets: Targets) -> dict[str, Choices]:
        both = _both_ways(targets)
        back = (":".join(reversed(str(link).split(":"))) for link in both)
        one_way = tuple(str(link).replace(":", ">") for link in (*both, *back))
        return {"one_way": one_way, "link": both, "isolate": targets.zones}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"mode": tuple(CutMode)}


def around(targets: Targets, zone: str | None) -> Pairs:
    """Every link from and to ``zone``; every link if None."""
    return tuple(link for link in targets.links_all if zone is None or zone in link)


def cut_of(links: Pairs) -> set[str]:
    """However a link comes to be cut, mending it undoes all of that: only one fault can cut it at a time."""
    return _held("cut", links)


def _held(what: str, links: Pairs) -> set[str]:
    return {f"{what} of {source}>{target}" for source, target in links}


def _written(targets: Targets) -> Choices:
    return tuple(f"{source}>{target}" for source, target in targets.links_all)


def _both_ways(targets: Targets) -> Choices:
    return tuple(
        f"{source}:{target}"
        for number, (source, target) in enumerate(targets.links_all)
        if (target, source) not in targets.links_all[:number]
    )


def _in_any_order(links: Sequence[Link], random: Random, within_ns: int, *, first: int) -> list[tuple[Link, int]]:
    order = random.sample(links, len(links))
    return [(link, within_ns * number // len(order)) for number, link in enumerate(order, first)]

"""Changes of keys at simulated servers, known at once and without an event to whoever waits for them."""

from collections.abc import Callable, Mapping, Sequence

from zonelab.cluster.sim.server import SimServer


class ServerChanges:
    """``Changes`` for the clients of the zone ``own`` among ``servers``."""

    def __init__(self, servers: Mapping[str, SimServer], *, own: str) -> None:
        self._own = servers[own]
        self._all = list(servers.values())

    def listen(self, keys: Sequence[bytes], changed: Callable[[], None], *, everywhere: bool) -> Callable[[], None]:
        stops = [server.listen(keys, changed) for server in (self._all if everywhere else [self._own])]

        def stop() -> None:
            for one in stops:
                one()

        return stop

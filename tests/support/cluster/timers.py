"""Virtual time in which every timer that is set is counted."""

from zonelab.cluster.sim.runtime import SimRuntime


class CountedTimers(SimRuntime):
    def __init__(self) -> None:
        super().__init__(seed=1)
        self.timers = 0
        call_later = self.call_later

        def counted(delay_ns, callback):
            self.timers += 1
            return call_later(delay_ns, callback)

        self.call_later = counted

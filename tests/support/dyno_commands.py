"""Recording what a V1 queue sends, in a short notation."""

from support.engine.dyno import EPOCH_MS, SettableClock, make_queue

from engine.dyno import LocalOnly
from engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from engine.message import Message

NOW = EPOCH_MS
LEASE_END = NOW + 60_000
X = Message(id="x", payload="p", priority=3)
DEPTH = [("N", "ZCARD", "Q:b"), ("N", "ZCARD", "Q:a")]
"""What is read to tell how many messages wait."""


class Recorder:
    """Notes every command with a mark, and passes it on. More than one a round trip is an error."""

    def __init__(self, inner, mark, log):
        self._inner, self._mark, self._log = inner, mark, log

    async def execute(self, *commands):
        assert len(commands) == 1, "a command a round trip"
        self._log.append((self._mark, *commands[0]))
        return await self._inner.execute(*commands)


class CommandBench:
    """A queue with the shards b and a, in that order, that serves a, where everything is pushed.

    Q is the quorum connection, N the local one; keys are written H (payloads), Q:x and U:x (waiting and leased in shard
    x), and a script as its name.
    """

    def __init__(self, lab, *, compat=False, **settings):
        self.lab = lab
        self.compat = compat
        self.clock = SettableClock()
        self._log = []
        direct = lab.direct("a")
        self.queue = make_queue(
            Recorder(direct, "Q", self._log),
            local=Recorder(direct, "N", self._log),
            runtime=lab.runtime,
            clock=self.clock,
            strategy=LocalOnly("a"),
            shards=("b", "a"),
            compat=compat,
            **settings,
        )
        keys = self.queue.keys
        self._names = {keys.messages: "H"}
        for shard in "ab":
            self._names |= {keys.queue_of(shard): f"Q:{shard}", keys.unack(shard): f"U:{shard}"}
        scripts = ORIGINAL_SCRIPTS if compat else SCRIPTS
        self._names |= {text: name for name, text in scripts.items()}

    def commands(self, operation):
        """What ``operation`` sends, as (connection, command, arguments…)."""
        self._log.clear()
        self.lab.run(operation)
        return [tuple(self._names.get(word, word) for word in words) for words in self._log]

    def push(self):
        self.lab.run(self.queue.push([X]))

    def lease(self):
        self.push()
        assert len(self.lab.run(self.queue.pop(1))) == 1

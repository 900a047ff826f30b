"""A client straight on one zone's server, past every coordinator: for administration, end states and comparisons."""

from cluster.commands.routes import is_write
from cluster.connections.batch import Answer, Batch
from cluster.connections.server import Datastore
from cluster.votes.vote import ZoneFailure
from engine.ports import Command, Indeterminate, Promise, Reply, Runtime, Unavailable


class DirectConnection:
    """``Connection`` to one server."""

    def __init__(self, datastore: Datastore, *, runtime: Runtime) -> None:
        self.datastore = datastore
        self._runtime = runtime

    async def execute(self, *commands: Command) -> list[Reply]:
        batch = Batch(commands, writes=any(map(is_write, commands)))
        answered: Promise[Answer] = self._runtime.promise()
        self.datastore.submit(batch, answered.set_result)
        answer = await answered
        if isinstance(answer, ZoneFailure):
            applied = answer.maybe_applied and batch.writes
            raise (Indeterminate if applied else Unavailable)(*answer.args)
        return answer

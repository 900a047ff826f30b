"""Operations of dyno-queues that neither the pipelined nor the multi-shard queue has."""

from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from zonelab.engine.dyno.errors import UnsupportedOperation


def _unsupported(name: str) -> Callable[..., Coroutine[Any, Any, NoReturn]]:
    async def refuse(*_: object, **__: object) -> NoReturn:
        raise UnsupportedOperation(f"{name} does not exist in the pipelined queue")

    return refuse


class Unsupported:
    """Each raises ``UnsupportedOperation``, as its namesake in the original does."""

    pop_with_id = _unsupported("pop_with_id")
    unsafe_pop_with_id_all_shards = _unsupported("unsafe_pop_with_id_all_shards")
    unsafe_peek_all_shards = _unsupported("unsafe_peek_all_shards")
    unsafe_pop_all_shards = _unsupported("unsafe_pop_all_shards")
    contains_predicate = _unsupported("contains_predicate")
    get_msg_with_predicate = _unsupported("get_msg_with_predicate")
    pop_msg_with_predicate = _unsupported("pop_msg_with_predicate")
    bulk_pop = _unsupported("bulk_pop")
    unsafe_bulk_pop = _unsupported("unsafe_bulk_pop")
    local_get = _unsupported("local_get")
    get_all_messages = _unsupported("get_all_messages")
    atomic_process_unacks = _unsupported("atomic_process_unacks")
    find_stale_messages = _unsupported("find_stale_messages")
    atomic_remove = _unsupported("atomic_remove")

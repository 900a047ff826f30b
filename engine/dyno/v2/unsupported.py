"""Operations of dyno-queues that neither the pipelined nor the multi-shard queue has."""

from typing import NoReturn

from engine.dyno.v2.errors import UnsupportedOperation


class Unsupported:
    """Each raises ``UnsupportedOperation``, as its namesake in the original does."""

    async def pop_with_id(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("pop_with_id")

    async def unsafe_pop_with_id_all_shards(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("unsafe_pop_with_id_all_shards")

    async def unsafe_peek_all_shards(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("unsafe_peek_all_shards")

    async def unsafe_pop_all_shards(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("unsafe_pop_all_shards")

    async def contains_predicate(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("contains_predicate")

    async def get_msg_with_predicate(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("get_msg_with_predicate")

    async def pop_msg_with_predicate(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("pop_msg_with_predicate")

    async def bulk_pop(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("bulk_pop")

    async def unsafe_bulk_pop(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("unsafe_bulk_pop")

    async def local_get(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("local_get")

    async def get_all_messages(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("get_all_messages")

    async def atomic_process_unacks(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("atomic_process_unacks")

    async def find_stale_messages(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("find_stale_messages")

    async def atomic_remove(self, *_: object, **__: object) -> NoReturn:
        raise _unsupported("atomic_remove")


def _unsupported(name: str) -> UnsupportedOperation:
    return UnsupportedOperation(f"{name} does not exist in the pipelined queue")

"""Lua scripts: EVAL, EVALSHA and SCRIPT."""

from functools import lru_cache
from hashlib import sha1

from zonelab.cluster.sim.redis.interpreter import SCRIPTS_MAX, Script, interpreter
from zonelab.cluster.sim.redis.registry import Args, CommandSpec, CommandTable, add
from zonelab.cluster.sim.redis.reply import OK, fail
from zonelab.cluster.sim.redis.script_host import NOT_BUSY, ScriptHost, keys_and_arguments
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

_DIGEST_LENGTH = 40
_NO_SCRIPT = "NOSCRIPT No matching script."


class ScriptCache:
    """The script cache of one server."""

    def __init__(self, host: ScriptHost) -> None:
        self._host = host
        self._chunks: dict[bytes, Script] = {}
        self._texts: dict[bytes, bytes] = {}

    def commands(self) -> CommandTable:
        """Return EVAL, EVALSHA and SCRIPT on this cache."""
        table: CommandTable = {}
        for name, arity, handler in (
            ("eval", -3, self._evaluate),
            ("eval_ro", -3, self._evaluate_reading),
            ("evalsha", -3, self._evaluate_sha),
            ("evalsha_ro", -3, self._evaluate_sha_reading),
            ("script|exists", -3, self._exist),
            ("script|flush", -2, self._flush),
            ("script|kill", 2, lambda store, args: fail(NOT_BUSY)),
            ("script|load", 3, lambda store, args: self._load(args[0])),
            ("script|show", 3, self._show),
        ):
            add(table, CommandSpec(name, arity, handler))
        return table

    def _evaluate(self, store: Database, args: Args) -> Reply:
        """EVAL: script, number of keys, keys, arguments."""
        keys, argv = keys_and_arguments(args)
        return self._run(self._load(args[0]), keys, argv)

    def _evaluate_reading(self, store: Database, args: Args) -> Reply:
        """EVAL_RO: a script that may only read."""
        keys, argv = keys_and_arguments(args)
        return self._run(self._load(args[0]), keys, argv, only_reads=True)

    def _evaluate_sha_reading(self, store: Database, args: Args) -> Reply:
        return self._evaluate_sha(store, args, only_reads=True)

    def _evaluate_sha(self, store: Database, args: Args, *, only_reads: bool = False) -> Reply:
        """EVALSHA: run the script of this digest, or fail with NOSCRIPT."""
        if len(args[0]) != _DIGEST_LENGTH:
            fail(_NO_SCRIPT)
        keys, argv = keys_and_arguments(args)
        digest = args[0].lower()
        if digest not in self._chunks:
            fail(_NO_SCRIPT)
        return self._run(digest, keys, argv, only_reads=only_reads)

    def _show(self, store: Database, args: Args) -> Reply:
        return self._texts.get(args[0].lower()) or fail(_NO_SCRIPT)

    def _exist(self, store: Database, digests: Args) -> Reply:
        return [int(digest.lower() in self._chunks) for digest in digests]

    def _flush(self, store: Database, args: Args) -> Reply:
        if len(args) > 1 or (args and args[0].upper() not in (b"SYNC", b"ASYNC")):
            fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
        self._chunks.clear()
        self._texts.clear()
        return OK

    def _load(self, script: bytes) -> bytes:
        digest = _digest(script)
        if digest not in self._chunks:
            self._chunks[digest] = interpreter().compile(script)
            self._texts[digest] = script
        return digest

    def _run(self, digest: bytes, keys: Args, argv: Args, *, only_reads: bool = False) -> Reply:
        chunk, flags = self._chunks[digest]
        return interpreter().run(chunk, keys, argv, self._host.execution(flags, only_reads=only_reads))


@lru_cache(maxsize=SCRIPTS_MAX)
def _digest(script: bytes) -> bytes:
    return sha1(script, usedforsecurity=False).hexdigest().encode()

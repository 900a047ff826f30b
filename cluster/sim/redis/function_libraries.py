"""Functions: FUNCTION and FCALL. A server has the code of libraries in its files; what Lua makes of it, it has not.

The rules are those of Valkey 9, ``functions.c`` in https://github.com/valkey-io/valkey.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from zonelab.cluster.glob import matches
from zonelab.cluster.sim.redis.commands.copies import packed, unpacked
from zonelab.cluster.sim.redis.interpreter import interpreter
from zonelab.cluster.sim.redis.registry import Args, CommandSpec, CommandTable, add
from zonelab.cluster.sim.redis.reply import OK, StatusReply, SubcommandSyntaxError, fail, text
from zonelab.cluster.sim.redis.script_functions import Registration
from zonelab.cluster.sim.redis.script_host import NOT_BUSY, ScriptHost, keys_and_arguments
from zonelab.cluster.sim.redis.shebang import FLAGS, Flags
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

_KIND = b"f"
_NAME = re.compile(rb"[A-Za-z0-9_]+")
_NAME_RULE = "names can only contain letters, numbers, or underscores(_) and must be at least one character long"
_NAME_OPTION = b"name="
_POLICIES = (b"APPEND", b"REPLACE", b"FLUSH")
_HELP = """FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
LOAD [REPLACE] <FUNCTION CODE>
    Create a new library with the given library name and code.
DELETE <LIBRARY NAME>
    Delete the given library.
LIST [LIBRARYNAME PATTERN] [WITHCODE]
    Return general information on all the libraries:
    * Library name
    * The engine used to run the Library
    * Functions list
    * Library code (if WITHCODE is given)
    It also possible to get only function that matches a pattern using LIBRARYNAME argument.
STATS
    Return information about the current function running:
    * Function name
    * Command used to run the function
    * Duration in MS that the function is running
    If no function is running, return nil
    In addition, returns a list of available engines.
KILL
    Kill the current running function.
FLUSH [ASYNC|SYNC]
    Delete all the libraries.
    When called without the optional mode argument, the behavior is determined by the
    lazyfree-lazy-user-flush configuration directive. Valid modes are:
    * ASYNC: Asynchronously flush the libraries.
    * SYNC: Synchronously flush the libraries.
DUMP
    Return a serialized payload representing the current libraries, can be restored using FUNCTION RESTORE command
RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]
    Restore the libraries represented by the given payload, it is possible to give a restore policy to
    control how to handle existing libraries (default APPEND):
    * FLUSH: delete all existing libraries.
    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.
    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the old
      libraries with the new libraries (notice that even on this option there is a chance of failure
      in case of functions name collision with another library).
HELP
    Print this help."""


@dataclass(frozen=True, slots=True)
class FunctionLibrary:
    """A library as it was loaded: its code, and its functions by name."""

    name: bytes
    code: bytes
    functions: dict[bytes, Registration]

    def described(self, *, with_code: bool) -> list[Reply]:
        """Return what FUNCTION LIST shows."""
        functions: list[Reply] = [
            [b"name", each.name, b"description", each.description, b"flags", _declared(each)]
            for each in self.functions.values()
        ]
        code: list[Reply] = [b"library_code", self.code] if with_code else []
        return [b"library_name", self.name, b"engine", b"LUA", b"functions", functions, *code]


def _declared(function: Registration) -> list[Reply]:
    return [StatusReply(flag) for flag in FLAGS if flag in function.flags]


class FunctionLibraries:
    """The libraries of one server as Lua knows them, made of the code in its store when they are asked for."""

    def __init__(self, host: ScriptHost) -> None:
        self._host = host
        self._source: dict[bytes, bytes] = {}
        self._libraries: dict[bytes, FunctionLibrary] = {}

    def commands(self) -> CommandTable:
        """Return FCALL and FUNCTION on these libraries."""
        table: CommandTable = {}
        for name, arity, handler in (
            ("fcall", -3, self._call),
            ("fcall_ro", -3, self._call_reading),
            ("function|delete", 3, self._delete),
            ("function|dump", 2, self._dump),
            ("function|flush", -2, self._flush),
            ("function|help", 2, lambda store, args: [StatusReply(line.encode()) for line in _HELP.splitlines()]),
            ("function|kill", 2, lambda store, args: fail(NOT_BUSY)),
            ("function|list", -2, self._list),
            ("function|load", -3, self._load),
            ("function|restore", -3, self._restore),
            ("function|stats", 2, self._count),
        ):
            add(table, CommandSpec(name, arity, handler))
        return table

    def _known(self, store: Database) -> dict[bytes, FunctionLibrary]:
        """Return the libraries; after a server got another copy of its data they are loaded again."""
        if self._source is not store.libraries:
            self._source = store.libraries
            self._libraries = {name: self._loaded(code) for name, code in store.libraries.items()}
        return self._libraries

    def _keep(self, store: Database, libraries: dict[bytes, FunctionLibrary]) -> None:
        store.libraries = self._source = {name: each.code for name, each in libraries.items()}
        self._libraries = libraries
        store.changes += 1

    def _loaded(self, code: bytes, *, absent_from: Callable[[bytes], object] | None = None) -> FunctionLibrary:
        body, name = read_library_name(code)
        if absent_from is not None:
            absent_from(name)
        execution = self._host.execution(Flags(), only_reads=False)
        functions: dict[bytes, Registration] = {}
        for each in interpreter().load(body, execution):
            if not _NAME.fullmatch(each.name):
                fail(f"ERR Function {_NAME_RULE}")
            if each.name in functions:
                fail("ERR Function already exists in the library")
            functions[each.name] = each
        if not functions:
            fail("ERR No functions registered")
        return FunctionLibrary(name, code, functions)

    def _load(self, store: Database, args: Args) -> Reply:
        *options, code = args
        for option in options:
            if option.upper() != b"REPLACE":
                fail(f"ERR Unknown option given: {text(option)}")
        there = self._known(store)

        def absent(name: bytes) -> None:
            if name in there and not options:
                fail(f"ERR Library '{text(name)}' already exists")

        library = self._loaded(code, absent_from=absent)
        others = {name: each for name, each in there.items() if name != library.name}
        _check_functions(others.values(), library)
        self._keep(store, {**others, library.name: library})
        return library.name

    def _call(self, store: Database, args: Args, *, only_reads: bool = False) -> Reply:
        """FCALL: name, number of keys, keys, arguments."""
        wanted = args[0].lower()
        found = (each for library in self._known(store).values() for each in library.functions.values())
        function = next((each for each in found if each.name.lower() == wanted), None)
        if function is None:
            fail("ERR Function not found")
        keys, argv = keys_and_arguments(args, error="ERR Bad number of keys provided")
        execution = self._host.execution(Flags.of(function.flags), only_reads=only_reads)
        return interpreter().call(function.callback, keys, argv, execution)

    def _call_reading(self, store: Database, args: Args) -> Reply:
        return self._call(store, args, only_reads=True)

    def _delete(self, store: Database, args: Args) -> Reply:
        there = dict(self._known(store))
        if there.pop(args[0], None) is None:
            fail("ERR Library not found")
        self._keep(store, there)
        return OK

    def _flush(self, store: Database, args: Args) -> Reply:
        if len(args) > 1:
            raise SubcommandSyntaxError
        if args and args[0].upper() not in (b"SYNC", b"ASYNC"):
            fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
        self._keep(store, {})
        return OK

    def _list(self, store: Database, args: Args) -> Reply:
        pattern: bytes | None = None
        with_code = False
        words = iter(args)
        for word in words:
            option = word.upper()
            if option == b"WITHCODE" and not with_code:
                with_code = True
            elif option == b"LIBRARYNAME" and pattern is None:
                pattern = next(words, None)
                if pattern is None:
                    fail("ERR library name argument was not given")
            else:
                fail(f"ERR Unknown argument {text(word)}")
        return [
            library.described(with_code=with_code)
            for name, library in self._known(store).items()
            if pattern is None or matches(pattern.lower(), name.lower())
        ]

    def _count(self, store: Database, args: Args) -> Reply:
        libraries = self._known(store).values()
        counts: list[Reply] = [b"libraries_count", len(libraries)]
        counts += [b"functions_count", sum(len(each.functions) for each in libraries)]
        return [b"running_script", None, b"engines", [b"LUA", counts]]

    def _dump(self, store: Database, args: Args) -> Reply:
        return packed(_KIND, list(store.libraries.values()))

    def _restore(self, store: Database, args: Args) -> Reply:
        if len(args) > 2:
            raise SubcommandSyntaxError
        policy = args[1].upper() if len(args) > 1 else _POLICIES[0]
        if policy not in _POLICIES:
            fail("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
        restored = [self._loaded(code) for code in unpacked(args[0], _KIND)]
        kept = {} if policy == b"FLUSH" else dict(self._known(store))
        for library in restored:
            if kept.pop(library.name, None) is not None and policy != b"REPLACE":
                fail(f"ERR Library {text(library.name)} already exists")
            _check_functions(kept.values(), library)
        self._keep(store, {**kept, **{library.name: library for library in restored}})
        return OK


def _check_functions(libraries: Iterable[FunctionLibrary], added: FunctionLibrary) -> None:
    """Raise the error for a function that another library has; the case of letters is no difference."""
    taken = {name.lower() for library in libraries for name in library.functions}
    for name in added.functions:
        if name.lower() in taken:
            fail(f"ERR Function {text(name)} already exists")


def read_library_name(code: bytes) -> tuple[bytes, bytes]:
    """Return the code of a library without what its first line says, and the name that this gives it.

    Raises ``CommandError`` for a first line that the server refuses (``functionExtractLibMetaData``).
    """
    if not code.startswith(b"#!"):
        fail("ERR Missing library metadata")
    line, end, _ = code.partition(b"\n")
    if not end or b"\0" in line:
        fail("ERR Invalid library metadata")
    engine, *options = line.split()
    name: bytes | None = None
    for option in options:
        if not option.lower().startswith(_NAME_OPTION):
            fail(f"ERR Invalid metadata value given: {text(option)}")
        if name is not None:
            fail("ERR Invalid metadata value, name argument was given multiple times")
        name = option[len(_NAME_OPTION) :].strip(b"'\"")
    if name is None:
        fail("ERR Library name was not given")
    if not _NAME.fullmatch(name):
        fail(f"ERR Library {_NAME_RULE}")
    if engine[2:].lower() != b"lua":
        fail(f"ERR Engine '{text(engine[2:])}' not found")
    return code[len(line) :], name

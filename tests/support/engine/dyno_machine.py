"""A Hypothesis state machine that drives two instances of the dyno queue and the model in step."""

from contextlib import suppress

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.engine.dyno import EPOCH_MS, CuttingConnection, SettableClock, content, fresh_name, make_queue
from support.engine.dyno_model import Model

from zonelab.engine.message import Message
from zonelab.engine.ports import PortError

SERVED = ("a", "b")
LEASE_MS = 1000
BATCH = 2
IDS = st.sampled_from("xyz")
INSTANCES = st.sampled_from(SERVED)
DELAYS_MS = st.sampled_from([0, -50, 0, 1, 999, 1000, 5000])
READS_OF_A_REQUEUE = len(SERVED) + 1  # sizes, range


class Chosen:
    """Puts a message where the test says."""

    shard = "a"

    def next_shard(self, shards, message):
        return self.shard


@st.composite
def messages(draw):
    return Message(
        id=draw(IDS),
        payload=draw(st.sampled_from(["p", "", "q"])),
        timeout_ms=draw(DELAYS_MS),
        priority=draw(st.sampled_from([0, 1, 50, 99])),
    )


class DynoMachine(RuleBasedStateMachine):
    """Subclasses give ``lab``; ``compat``, and ``model_compat`` where the model is to differ from the queue."""

    lab = None
    compat = False
    model_compat = False

    def __init__(self):
        super().__init__()
        self.clock = SettableClock()
        self.connection = CuttingConnection(self.lab.direct("a"))
        self.strategy = Chosen()
        self.name = fresh_name()
        self.queues = {shard: self.instance(shard) for shard in SERVED}
        self.model = Model(shards=SERVED, lease_ms=LEASE_MS, batch=BATCH, now_ms=EPOCH_MS, compat=self.model_compat)
        self.owed = set()

    def instance(self, shard):
        return make_queue(
            self.connection,
            runtime=self.lab.runtime,
            clock=self.clock,
            name=self.name,
            strategy=self.strategy,
            shards=SERVED,
            shard=shard,
            unack_ms=LEASE_MS,
            unack_batch=BATCH,
            compat=self.compat,
        )

    def found(self):
        return self.lab.run(content(self.lab.direct("a"), self.queues["a"].keys, SERVED))

    @initialize(drawn=st.lists(st.tuples(messages(), INSTANCES), min_size=2, max_size=4))
    def producers_begin(self, drawn):
        for message, shard in drawn:
            self.push(message, through=shard, into=shard)

    @rule(duration_ms=st.sampled_from([1, 500, 1000, 4000]))
    def some_time_passes(self, duration_ms):
        self.time_passes(duration_ms)

    def time_passes(self, duration_ms):
        self.clock.advance(duration_ms)
        self.model.now_ms += duration_ms

    @rule(message=messages(), through=INSTANCES, into=INSTANCES)
    def a_producer_pushes(self, message, through, into):
        self.push(message, through, into)

    def push(self, message, through, into):
        self.strategy.shard = into
        (receipt,) = self.lab.run(self.queues[through].push([message]))
        due_ms = self.model.now_ms + message.timeout_ms
        assert (receipt.id, receipt.shard, receipt.due_ms) == (message.id, into, due_ms)
        self.model.push(message, into)
        self.owed.add(message.id)

    @rule(data=st.data(), count=st.integers(1, 4))
    def pop(self, data, count):
        shard = data.draw(st.sampled_from([name for name in SERVED if self.model.due(name)] or SERVED))
        now_ms = self.model.now_ms
        deliveries = self.lab.run(self.queues[shard].pop(count))
        assert self.model.pop(shard, count) == [
            (delivery.message.id, delivery.message.payload, delivery.lease_end_ms) for delivery in deliveries
        ]
        assert {(d.shard, d.lease_start_ms, d.leased_ms) for d in deliveries} <= {(shard, now_ms, now_ms)}

    @rule(shard=INSTANCES, count=st.integers(1, 4), every=st.booleans(), bulk=st.booleans())
    def pop_otherwise(self, shard, count, every, bulk):
        """From every shard, by one script, or both."""
        queue = self.queues[shard]
        names = {(True, False): "unsafe_pop_all_shards", (False, True): "bulk_pop", (True, True): "unsafe_bulk_pop"}
        deliveries = self.lab.run(getattr(queue, names.get((every, bulk), "pop"))(count))
        assert self.model.pop(shard, count, every=every, bulk=bulk) == [
            (delivery.message.id, delivery.message.payload, delivery.lease_end_ms) for delivery in deliveries
        ]

    @rule(shard=INSTANCES, message_id=IDS, every=st.booleans())
    def pop_with_id(self, shard, message_id, every):
        queue = self.queues[shard]
        delivery = self.lab.run((queue.unsafe_pop_with_id_all_shards if every else queue.pop_with_id)(message_id))
        expected = self.model.pop_with_id(shard, message_id, every=every)
        assert expected == (delivery and (delivery.message.id, delivery.message.payload, delivery.lease_end_ms))

    @rule(shard=INSTANCES, payload=st.sampled_from("pq"), own=st.booleans())
    def pop_by_pattern(self, shard, payload, own):
        pattern = f'"payload":"{payload}"'
        delivery = self.lab.run(self.queues[shard].pop_msg_with_predicate(pattern, own_shard_only=own))
        expected = self.model.pop_matching(shard, payload, own=own)
        assert expected == (delivery and (delivery.message.id, delivery.lease_end_ms))

    @rule(shard=INSTANCES, message_id=IDS)
    def atomic_remove(self, shard, message_id):
        assert self.lab.run(self.queues[shard].atomic_remove(message_id)) is self.model.atomic_remove(message_id)
        self.owed.discard(message_id)

    @rule(shard=INSTANCES)
    def look_everywhere(self, shard):
        run, queue = self.lab.run, self.queues[shard]
        assert [message.id for message in run(queue.find_stale_messages())] == self.model.stale()
        assert {message.id for message in run(queue.get_all_messages())} == set(self.model.payloads)
        for payload in "pq":
            found = run(queue.get_msg_with_predicate(f'"payload":"{payload}"'))
            matching = {name for name, fields in self.model.payloads.items() if fields.get("payload") == payload}
            assert (found in matching) if matching else (found is None)
            here = run(queue.contains_predicate(f'"payload":"{payload}"', own_shard_only=True))
            assert here is any(name in self.model.waiting[shard] for name in matching)
        if not self.compat:
            assert [message.id for message in run(queue.unsafe_peek_all_shards(2))] == self.model.unsafe_peek(2)

    @rule(message_id=IDS, through=INSTANCES)
    def ack(self, message_id, through):
        acked = self.model.ack(message_id)
        assert self.lab.run(self.queues[through].ack(message_id)) is acked
        if acked:
            self.owed.discard(message_id)

    @rule(shard=INSTANCES, atomic=st.booleans())
    def a_handler_runs(self, shard, atomic):
        self.process_unacks(shard, atomic=atomic)

    def process_unacks(self, shard, *, atomic=False):
        depth = sum(map(len, self.model.waiting.values()))
        queue = self.queues[shard]
        result = self.lab.run((queue.atomic_process_unacks if atomic else queue.process_unacks)())
        assert (result.requeued, result.stale) == self.model.process_unacks(shard, atomic=atomic)
        assert result.queue_depth == depth

    def leased(self):
        return [name for name in SERVED if self.model.unacked[name]]

    @precondition(leased)
    @rule(data=st.data())
    def a_lease_ends(self, data):
        """And the shard's handler runs, or dies after some of its writes."""
        shard = data.draw(st.sampled_from(self.leased()))
        end_ms = data.draw(st.sampled_from(sorted(self.model.unacked[shard].values())))
        self.time_passes(max(0, int(end_ms) - self.model.now_ms))
        crash = data.draw(st.none() | st.tuples(st.integers(0, 3), st.booleans()))
        if crash is None:
            self.process_unacks(shard)
        else:
            self.crash(shard, lambda queue: queue.process_unacks(), READS_OF_A_REQUEUE + crash[0], applied=crash[1])

    @precondition(leased)
    @rule(data=st.data(), message=messages())
    def a_leased_message_is_pushed_again(self, data, message):
        shard = data.draw(st.sampled_from(self.leased()))
        message_id = data.draw(st.sampled_from(sorted(self.model.unacked[shard])))
        again = Message(id=message_id, payload=message.payload, priority=message.priority)
        self.push(again, through=shard, into=shard)

    @rule(
        operation=st.sampled_from(["ensure", "remove", "clear", "set_timeout", "set_unack_timeout", "look"]),
        message=messages(),
        through=INSTANCES,
        into=INSTANCES,
    )
    def something_else_is_done(self, operation, message, through, into):
        getattr(self, operation)(self.queues[through], message, into)

    def ensure(self, queue, message, into):
        self.strategy.shard = into
        pushed = self.model.ensure(message, into)
        assert self.lab.run(queue.ensure(message)) is pushed
        if pushed:
            self.owed.add(message.id)

    def set_unack_timeout(self, queue, message, into):
        moved = self.lab.run(queue.set_unack_timeout(message.id, timeout_ms=message.timeout_ms))
        assert moved is self.model.set_unack_timeout(message.id, message.timeout_ms)

    def set_timeout(self, queue, message, into):
        moved = self.lab.run(queue.set_timeout(message.id, timeout_ms=message.timeout_ms))
        assert moved is self.model.set_timeout(message.id, message.timeout_ms)

    def remove(self, queue, message, into):
        assert self.lab.run(queue.remove(message.id)) is self.model.remove(message.id)
        self.owed.discard(message.id)

    def clear(self, queue, message, into):
        self.lab.run(queue.clear())
        self.model.clear()
        self.owed.clear()

    def look(self, queue, message, into):
        stored = self.lab.run(queue.get(message.id))
        assert (stored is None) == (message.id not in self.model.payloads)
        assert self.lab.run(queue.size()) == sum(map(len, self.model.waiting.values()))
        sizes = self.lab.run(queue.shard_sizes())
        assert {name: (size.waiting, size.unacked) for name, size in sizes.items()} == {
            name: (len(self.model.waiting[name]), len(self.model.unacked[name])) for name in SERVED
        }
        due = self.model.due(queue.settings.shard)
        if not self.compat or all(name in self.model.payloads for name in due):
            peeked = [peeked.id for peeked in self.lab.run(queue.peek(9))]
            assert peeked == [name for name in due if name in self.model.payloads]

    @rule(
        operation=st.sampled_from(
            ["pop", "push", "ack", "remove", "set_timeout", "unsafe_pop_all_shards", "bulk_pop", "atomic_remove"]
        ),
        message=messages(),
        shard=INSTANCES,
        command=st.integers(0, 4),
        applied=st.booleans(),
    )
    def a_client_dies(self, operation, message, shard, command, applied):
        if operation in ("ack", "remove", "atomic_remove"):
            self.owed.discard(message.id)
        run = {
            "pop": lambda queue: queue.pop(2),
            "unsafe_pop_all_shards": lambda queue: queue.unsafe_pop_all_shards(2),
            "bulk_pop": lambda queue: queue.bulk_pop(2),
            "atomic_remove": lambda queue: queue.atomic_remove(message.id),
            "push": lambda queue: queue.push([message]),
            "ack": lambda queue: queue.ack(message.id),
            "remove": lambda queue: queue.remove(message.id),
            "set_timeout": lambda queue: queue.set_timeout(message.id, timeout_ms=message.timeout_ms),
        }[operation]
        self.crash(shard, run, command, applied=applied)

    def crash(self, shard, operation, command, *, applied):
        """Break ``operation`` after ``command`` commands, if it has so many; the program that ran it begins anew."""
        self.connection.cut(after_pipelines=command, applied=1 if applied else None)
        with suppress(PortError):
            self.lab.run(operation(self.queues[shard]))
        self.connection.mend()
        self.queues[shard] = self.instance(shard)
        self.model.forget(shard)
        found = self.found()
        self.assert_nothing_owed_is_lost(found)
        self.model.adopt(found)

    @invariant()
    def redis_holds_what_the_model_holds(self):
        found = self.found()
        self.assert_nothing_owed_is_lost(found)
        assert found.payloads == self.model.raw_payloads()
        assert found.waiting == {name: entries for name, entries in self.model.waiting.items() if entries}
        assert found.unacked == {name: entries for name, entries in self.model.unacked.items() if entries}

    def assert_nothing_owed_is_lost(self, found):
        for message_id in sorted(self.owed):
            state = found.state(message_id)
            assert state.startswith("H "), f"{message_id} is owed, and its state is {state!r}"

"""Histories of one register for tests: an oracle that tries every order, and another that knows the values' spans."""

from zonelab.analysis.checkers.consistency.linear import RegisterOperation, RegisterStep


def operation(number, kind, value, begin, end, expected=None):
    return RegisterOperation(id=number, kind=kind, value=value, expected=expected, begin=begin, end=end)


def read(number, value, begin, end):
    return operation(number, RegisterStep.READ, value, begin, end)


def write(number, value, begin, end):
    return operation(number, RegisterStep.WRITE, value, begin, end)


def cas(number, expected, value, begin, end):
    return operation(number, RegisterStep.CAS, value, begin, end, expected)


def differs(number, value, begin, end):
    return operation(number, RegisterStep.DIFFERS, value, begin, end)


def after(one, value):
    """The register's value after ``one``, or ``Ellipsis`` if it cannot take effect on ``value``."""
    if one.kind is RegisterStep.WRITE:
        return one.value
    if one.kind is RegisterStep.READ:
        return value if value == one.value else ...
    if one.kind is RegisterStep.DIFFERS:
        return value if value != one.value else ...
    return one.value if value == one.expected else ...


def some_order_is_legal(operations, initial=None):
    """Wing and Gong without any cleverness: take each operation that nothing precedes, and go on with the rest."""

    def explore(value, left):
        if all(one.end is None for one in left):
            return True
        first_end = min(one.end for one in left if one.end is not None)
        for one in left:
            if one.begin > first_end:
                continue
            then = after(one, value)
            if then is not ... and explore(then, left - {one}):
                return True
        # an operation in doubt may also never happen
        return any(one.end is None and explore(value, left - {one}) for one in left if one.begin <= first_end)

    return explore(initial, frozenset(operations))


def crowded_history(random, count, clients, *, values=5, doubt_share=0.3):
    """A linearizable history in which values repeat, swaps are refused, and many updates are in doubt."""
    value, position, done, busy = None, 0, [], {}
    while len(done) < count:
        client = random.randrange(clients)
        step = busy.get(client)
        if step is None:
            busy[client] = [random.choice([RegisterStep.READ, RegisterStep.WRITE, RegisterStep.CAS]), position, None]
        elif step[2] is None:
            kind, wanted, expected = step[0], random.randrange(values), random.randrange(values)
            doubtful = kind is not RegisterStep.READ and random.random() < doubt_share
            applied = kind is RegisterStep.WRITE or value == expected
            step[2] = (value if kind is RegisterStep.READ else wanted, expected, applied, doubtful)
            if kind is not RegisterStep.READ and applied and not (doubtful and random.random() < 0.5):
                value = wanted
        else:
            kind, begin, (found, expected, applied, doubtful) = step
            if kind is RegisterStep.CAS and not applied and not doubtful:
                done.append(differs(len(done), expected, begin, position))
            else:
                done.append(operation(len(done), kind, found, begin, None if doubtful else position, expected))
            del busy[client]
        position += 1
    # an update that took effect and was not answered yet may have been read: without it the reads would be lies
    for kind, begin, step in busy.values():
        if step is not None and kind is not RegisterStep.READ:
            done.append(operation(len(done), kind, step[0], begin, None, step[1]))
    return done


def zones_conflict(operations, initial=None):
    """Gibbons and Korach's test for histories of reads and of writes of different values, all of them answered.

    The zone of a value reaches from the earliest end to the latest begin of its write and its reads. If that is
    forward in time the register must hold the value all through it; if not, the value fits in anywhere within it.
    """
    zones = []
    for value in {one.value for one in operations}:
        own = [one for one in operations if one.value == value]
        writes = [one for one in own if one.kind is RegisterStep.WRITE]
        if value == initial:
            first_end = -1
        elif not writes or any(one.end < writes[0].begin for one in own if one.kind is RegisterStep.READ):
            return True
        else:
            first_end = min(one.end for one in own)
        zones.append((first_end, max(one.begin for one in own)))
    forward = [zone for zone in zones if zone[0] < zone[1]]
    backward = [(begin, end) for end, begin in zones if end >= begin]
    overlap = any(one is not other and one[0] < other[1] and other[0] < one[1] for one in forward for other in forward)
    inside = any(outer[0] < inner[0] and inner[1] < outer[1] for outer in forward for inner in backward)
    return overlap or inside

"""The checker of histories finds each anomaly under its name, and nothing in what ran serially."""

import math
from dataclasses import replace
from itertools import count, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Invalid
from tests.support.examples import examples
from tests.support.histories.anomalies import Anomaly
from tests.support.histories.histories import Key, Model, Outcome, Read, Transaction, Write, with_write
from tests.support.histories.replay import replay
from tests.support.histories.serializability import check

X, Y = Key(Model.LIST, "x"), Key(Model.LIST, "y")
S, T = Key(Model.SET, "s"), Key(Model.SET, "t")
P, Q = Key(Model.REGISTER, "p"), Key(Model.REGISTER, "q")
KEYS = (X, Y, S, T, P, Q)


def read(key, *values):
    return Read(key, values)


def write(key, value):
    return Write(key, value)


def ran(name, *operations, at=(0, 100), process=None, outcome=Outcome.COMMITTED, version=None):
    """A transaction that overlaps all others, unless told otherwise."""
    return Transaction(name, process or name, *at, operations, outcome, version)


def anomalies(history):
    return {finding.anomaly for finding in check(history)}


ANOMALIES = {
    "lists written in two orders": (
        {Anomaly.G0},
        [
            ran("one", write(X, "1"), write(Y, "1")),
            ran("two", write(X, "2"), write(Y, "2")),
            ran("end", read(X, "1", "2"), read(Y, "2", "1")),
        ],
    ),
    "writes of two transactions between each other": (
        {Anomaly.G0},
        [
            ran("one", write(X, "1"), write(X, "3")),
            ran("two", write(X, "2")),
            ran("end", read(X, "1", "2", "3")),
        ],
    ),
    "an aborted append": (
        {Anomaly.G1A},
        [ran("one", write(X, "1"), outcome=Outcome.ABORTED), ran("two", read(X, "1"))],
    ),
    "an aborted table": (
        {Anomaly.G1A},
        [ran("one", write(S, "1"), outcome=Outcome.ABORTED), ran("two", read(S, "1"))],
    ),
    "an aborted property": (
        {Anomaly.G1A},
        [ran("one", write(P, "1"), outcome=Outcome.ABORTED), ran("two", read(P, "1"))],
    ),
    "half of two appends": (
        {Anomaly.G1B},
        [ran("one", write(X, "1"), write(X, "2")), ran("two", read(X, "1"))],
    ),
    "half of two tables": (
        {Anomaly.G1B},
        [ran("one", write(S, "1"), write(S, "2")), ran("two", read(S, "2"))],
    ),
    "a property that was set again": (
        {Anomaly.G1B},
        [ran("one", write(P, "1"), write(P, "2")), ran("two", read(P, "1"))],
    ),
    "two that saw each other": (
        {Anomaly.G1C},
        [ran("one", write(X, "1"), read(P, "2")), ran("two", write(P, "2"), read(X, "1"))],
    ),
    "three that saw each other": (
        {Anomaly.G1C},
        [
            ran("one", write(X, "1"), read(S, "3")),
            ran("two", write(P, "2"), read(X, "1")),
            ran("three", write(S, "3"), read(P, "2")),
        ],
    ),
    "a property set twice after one read": (
        {Anomaly.LOST_UPDATE, Anomaly.G2},
        [
            ran("zero", write(P, "0")),
            ran("one", read(P, "0"), write(P, "1")),
            ran("two", read(P, "0"), write(P, "2")),
        ],
    ),
    "a word that was written over": (
        {Anomaly.LOST_UPDATE, Anomaly.G_SINGLE},
        [
            ran("one", read(X), write(X, "1")),
            ran("two", read(X), write(X, "2")),
            ran("end", read(X, "2")),
        ],
    ),
    "one table of a commit without the other": (
        {Anomaly.G_SINGLE},
        [ran("one", write(X, "1"), write(Y, "1")), ran("two", read(X, "1"), read(Y))],
    ),
    "a property of a commit without its table": (
        {Anomaly.G_SINGLE},
        [ran("one", write(S, "1"), write(P, "1")), ran("two", read(P, "1"), read(S))],
    ),
    "two doctors off duty": (
        {Anomaly.G2},
        [ran("one", read(P), write(Q, "off")), ran("two", read(Q), write(P, "off"))],
    ),
    "tables that both were counted without": (
        {Anomaly.G2},
        [ran("one", read(S), write(S, "1")), ran("two", read(S), write(S, "2"))],
    ),
    "rows that both were read without": (
        {Anomaly.G2},
        [
            ran("one", read(X), write(Y, "1")),
            ran("two", read(Y), write(X, "1")),
            ran("end", read(X, "1"), read(Y, "1")),
        ],
    ),
    "two readers that saw two writers in two orders": (
        {Anomaly.G2},
        [
            ran("one", write(X, "1")),
            ran("two", write(Y, "2")),
            ran("three", read(X, "1"), read(Y)),
            ran("four", read(X), read(Y, "2")),
        ],
    ),
    "an own append that is not there": ({Anomaly.INTERNAL}, [ran("one", write(X, "1"), read(X))]),
    "an own append that is not last": (
        {Anomaly.INTERNAL},
        [ran("zero", write(X, "0")), ran("one", write(X, "1"), read(X, "1", "0"))],
    ),
    "an own table that is not there": ({Anomaly.INTERNAL}, [ran("one", write(S, "1"), read(S))]),
    "an own property with an older value": (
        {Anomaly.INTERNAL},
        [ran("zero", write(P, "0")), ran("one", write(P, "1"), read(P, "0"))],
    ),
    "a read that changed": ({Anomaly.INTERNAL}, [ran("zero", write(P, "0")), ran("one", read(P), read(P, "0"))]),
    "an own write before it was made": ({Anomaly.INTERNAL}, [ran("one", read(X, "1"), write(X, "1"))]),
    "a stale read": (
        {Anomaly.REAL_TIME},
        [ran("one", write(X, "1"), at=(0, 1)), ran("two", read(X), at=(2, 3))],
    ),
    "an acknowledged append that nobody sees": (
        {Anomaly.REAL_TIME},
        [
            ran("one", write(X, "1"), at=(0, 1)),
            ran("two", write(X, "2"), at=(2, 3)),
            ran("end", read(X, "2"), at=(4, 5)),
        ],
    ),
    "a stale read over two others": (
        {Anomaly.REAL_TIME},
        [
            ran("one", write(S, "1"), at=(0, 1)),
            ran("two", write(T, "1"), at=(2, 3)),
            ran("three", read(S), at=(4, 5)),
        ],
    ),
    "a process that misses its own commit": (
        {Anomaly.PROCESS},
        [ran("one", write(X, "1"), process="p"), ran("two", read(X), process="p", at=(1, 100))],
    ),
    "two orders of one list": (
        {Anomaly.FORKED},
        [
            ran("one", write(X, "1")),
            ran("two", write(X, "2")),
            ran("three", read(X, "1", "2")),
            ran("four", read(X, "2")),
        ],
    ),
    "an append that is there twice": ({Anomaly.REPEATED}, [ran("one", write(X, "1")), ran("two", read(X, "1", "1"))]),
    "a value that nobody wrote": ({Anomaly.UNWRITTEN}, [ran("two", read(P, "1"))]),
    "versions against what was seen": (
        {Anomaly.VERSIONS},
        [ran("one", write(X, "1"), version=2), ran("two", read(X, "1"), version=1)],
    ),
    "versions against real time": (
        {Anomaly.VERSIONS},
        [ran("one", write(X, "1"), version=2, at=(0, 1)), ran("two", write(Y, "1"), version=1, at=(2, 3))],
    ),
    "one version for two": (
        {Anomaly.VERSIONS},
        [ran("one", write(S, "1"), version=2), ran("two", read(S, "1"), version=2)],
    ),
}


@pytest.mark.parametrize("case", ANOMALIES)
def test_an_anomaly_is_found_by_its_name(case):
    expected, history = ANOMALIES[case]
    assert anomalies(history) == expected
    assert anomalies(history[::-1]) == expected


SERIALIZABLE = {
    "nothing": [],
    "a reader before a writer that was over first, without an answer": [
        ran("one", write(X, "1"), at=(0, None)),
        ran("two", read(X), at=(2, 3)),
    ],
    "a list that grows": [
        ran("one", read(X), write(X, "1"), at=(0, 1)),
        ran("two", read(X, "1"), write(X, "2"), read(X, "1", "2"), at=(2, 3)),
        ran("three", read(X, "1", "2"), at=(4, 5)),
    ],
    "appends that nobody read": [ran("one", write(X, "1")), ran("two", write(X, "2")), ran("three", read(X))],
    "one after the other in the order against their names": [
        ran("one", read(P, "2"), write(P, "1")),
        ran("two", read(P), write(P, "2")),
    ],
    "an aborted write skew": [
        ran("one", read(P), write(Q, "off")),
        ran("two", read(Q), write(P, "off"), outcome=Outcome.ABORTED),
    ],
    "an aborted transaction that saw rubbish": [ran("one", read(X, "9"), outcome=Outcome.ABORTED)],
    "no answer, and nothing to see": [
        ran("one", read(P), write(Q, "off"), outcome=Outcome.UNKNOWN, at=(0, None)),
        ran("two", read(Q), write(P, "off")),
    ],
    "no answer, and seen by another without an answer that was seen": [
        ran("one", write(X, "1"), outcome=Outcome.UNKNOWN, at=(0, None)),
        ran("two", read(X, "1"), write(Y, "1"), outcome=Outcome.UNKNOWN, at=(0, None)),
        ran("three", read(Y, "1")),
    ],
    "an end and a beginning at one time": [
        ran("one", write(X, "1"), at=(0, 1)),
        ran("two", read(X), at=(1, 2)),
    ],
    "a set in the order of its readers": [
        ran("one", read(S), write(S, "2")),
        ran("two", read(S, "2"), write(S, "1")),
        ran("three", read(S, "1", "2"), read(T)),
    ],
}


@pytest.mark.parametrize("case", SERIALIZABLE)
def test_a_serializable_history_passes(case):
    assert check(SERIALIZABLE[case]) == []


def test_a_transaction_without_an_answer_took_effect_once_somebody_saw_it():
    skew = [
        ran("one", read(P), write(Q, "off"), outcome=Outcome.UNKNOWN, at=(0, None)),
        ran("two", read(Q), write(P, "off")),
    ]
    assert check(skew) == []
    assert anomalies([*skew, ran("three", read(Q, "off"))]) == {Anomaly.G2}


def test_a_finding_tells_which_transactions_and_why():
    [finding] = check(ANOMALIES["two doctors off duty"][1])
    assert sorted(finding.transactions) == ["one", "two"]
    assert str(finding).split("\n") == [
        "G2, write skew or phantom: each missed what the other wrote",
        "  one -rw-> two: one saw register 'p' as [], without off",
        "  two -rw-> one: two saw register 'q' as [], without off",
    ]


def test_of_a_knot_a_shortest_cycle_is_shown():
    chain = [ran(f"{number}", read(X, *map(str, range(number))), write(X, str(number))) for number in range(30)]
    closing = [ran("late", read(X, *map(str, range(30))), write(S, "s")), ran("early", read(S, "s"), write(Y, "y"))]
    chain[0] = replace(chain[0], operations=(*chain[0].operations, read(Y, "y")))
    [long] = check([*chain, *closing])
    assert (long.anomaly, len(long.transactions)) == (Anomaly.G1C, 32)
    shortcut = ran("shortcut", read(X, "0"), write(T, "t")), ran("end", read(T, "t"), write(Y, "z"))
    chain[0] = replace(chain[0], operations=(*chain[0].operations[:-1], read(Y, "y", "z")))
    [short] = check([*chain, *closing, *shortcut])
    assert (short.anomaly, sorted(short.transactions)) == (Anomaly.G1C, ["0", "end", "shortcut"])


def test_separate_knots_are_all_found():
    skew = ANOMALIES["two doctors off duty"][1]
    stale = ANOMALIES["one table of a commit without the other"][1]
    renamed = [replace(one, name=f"other {one.name}", process=f"other {one.process}") for one in stale]
    assert anomalies([*skew, *renamed]) == {Anomaly.G2, Anomaly.G_SINGLE}


def test_a_value_that_is_written_twice_is_refused():
    with pytest.raises(Invalid, match=r"one value twice .*'1' by one and two"):
        check([ran("one", write(X, "1")), ran("two", write(X, "1"))])


def test_replaying_finds_a_blind_write_that_the_versions_put_elsewhere():
    """No read tells the order of two registers that were only written: their versions do."""
    history = [
        ran("one", write(P, "1"), version=1),
        ran("two", write(P, "2"), version=2),
        ran("end", read(P, "1"), version=3),
    ]
    assert check(history) == []
    [finding] = replay(history)
    assert finding.transactions == ("end",)
    assert replay([replace(history[0], version=2), replace(history[1], version=1), history[2]]) == []


@st.composite
def serial_histories(draw):
    """What transactions see that run one by one, though their calls overlap; some abort, some get no answer."""
    state, fresh, history = {}, count(), []
    for number in range(draw(st.integers(2, 12))):
        moment, outcome = 10 * number, draw(st.sampled_from(Outcome))
        held, operations = dict(state), []
        for key, writes in draw(st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=5)):
            if writes:
                value = str(next(fresh))
                operations.append(Write(key, value))
                held[key] = with_write(key, held.get(key, ()), value)
            else:
                operations.append(Read(key, held.get(key, ())))
        took_effect = outcome is Outcome.COMMITTED or (outcome is Outcome.UNKNOWN and draw(st.booleans()))
        if took_effect:
            state = held
        # No process overlaps itself: its transactions are three apart, and none is longer than that.
        began, ended = moment - draw(st.integers(0, 14)), moment + draw(st.integers(0, 14))
        history.append(
            Transaction(
                f"t{number}",
                f"p{number % 3}",
                began,
                None if outcome is Outcome.UNKNOWN else ended,
                tuple(operations),
                outcome,
                number if took_effect else None,
            )
        )
    return draw(st.permutations(history))


@given(serial_histories())
def test_what_ran_serially_has_no_anomaly(history):
    assert check(history) == []


@given(serial_histories(), st.data())
def test_a_read_that_misses_a_write_is_caught(history, data):
    known = [replace(one, outcome=Outcome.COMMITTED) for one in history if one.version is not None]
    places = [
        (number, place)
        for number, one in enumerate(known)
        for place, operation in enumerate(one.operations)
        if isinstance(operation, Read) and operation.values
    ]
    assert replay(known) == []
    if places:
        number, place = data.draw(st.sampled_from(places))
        operations = list(known[number].operations)
        operations[place] = replace(operations[place], values=operations[place].values[:-1])
        known[number] = replace(known[number], operations=tuple(operations))
        assert check(known) != []
        assert replay(known) != []


@given(serial_histories(), st.sampled_from(sorted(ANOMALIES)))
def test_an_anomaly_is_found_among_others_that_are_fine(history, case):
    expected, wrong = ANOMALIES[case]
    assert anomalies([*history, *(elsewhere(one) for one in wrong)]) >= expected


def elsewhere(transaction):
    """The same, later, by other processes, with other things."""
    operations = (replace(one, key=replace(one.key, name=f"other {one.key.name}")) for one in transaction.operations)
    ended = None if transaction.ended is None else transaction.ended + 1000
    return replace(
        transaction,
        name=f"other {transaction.name}",
        process=f"other {transaction.process}",
        began=transaction.began + 1000,
        ended=ended,
        operations=tuple(operations),
        version=None if transaction.version is None else transaction.version + 1000,
    )


@st.composite
def small_histories(draw, keys):
    """A few transactions that first read and then write, and see anything that the keys may have held."""
    names = [f"t{number}" for number in range(draw(st.integers(2, 4)))]
    fresh, writes = count(), {name: [] for name in names}
    for key in keys:
        for name in draw(st.lists(st.sampled_from(names), max_size=3)):
            writes[name].append(Write(key, str(next(fresh))))
    held = {
        key: draw(st.permutations([one.value for of in writes.values() for one in of if one.key == key]))
        for key in keys
    }
    history = []
    for name in names:
        reads = [Read(key, seen(draw, key, held[key])) for key in draw(st.lists(st.sampled_from(keys), unique=True))]
        began = draw(st.integers(0, 8))
        history.append(ran(name, *reads, *writes[name], at=(began, began + draw(st.integers(0, 8)))))
    everything = [Read(key, tuple(sorted(held[key])) if key.model is Model.SET else tuple(held[key])) for key in keys]
    last = [one for one in everything if one.key.model is not Model.REGISTER]
    return [*history, ran("end", *last, at=(100, 101))]


def seen(draw, key, values):
    """A beginning of a list, a part of a set, one value of a register."""
    number = draw(st.integers(0, len(values)))
    match key.model:
        case Model.LIST:
            return tuple(values[:number])
        case Model.SET:
            return tuple(sorted(values[:number]))
        case Model.REGISTER:
            return tuple(values[number - 1 : number]) if number else ()


def has_a_serial_order(history):
    """By trying all of them."""
    return any(
        replay([replace(one, version=version) for version, one in enumerate(order)]) == []
        for order in permutations(history)
        if in_real_time(order)
    )


def in_real_time(order):
    latest_beginning = -math.inf
    for one in order:
        if one.ended < latest_beginning:
            return False
        latest_beginning = max(latest_beginning, one.began)
    return True


@settings(max_examples=examples(100, 200))
@given(small_histories((X, Y, S)))
def test_lists_and_sets_pass_exactly_if_there_is_a_serial_order(history):
    assert (check(history) == []) == has_a_serial_order(history), check(history)


@settings(max_examples=examples(100, 200))
@given(small_histories((X, P, Q)))
def test_with_registers_no_anomaly_is_found_where_there_is_a_serial_order(history):
    if has_a_serial_order(history):
        assert check(history) == []

"""Cells through several lines, beside a dictionary that does the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.records import cells, codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt, Place, Row, Stretch
from lakebed.records.layout import Attribute, Space
from lakebed.store import MemoryStore, RangeRead, Reads, Version
from lakebed.store.version import LAST, ZERO

PARENT = str(UUID(int=99))
SCOPE = layout.id_element(PARENT)
NAMES = ["a", "aa", "ab", "b", "c", "d", "é"]
NOTHING = codec.encode(pb.ObjectName())


def line_id(number):
    return str(UUID(int=1000 + number))


def value_of(number):
    return codec.encode(pb.ObjectName(object_id=str(number)))


@dataclass
class Lines:
    """Lines in a store, with the rows of their names beside it: (line, name) to (version, value), oldest first."""

    store: MemoryStore = field(default_factory=MemoryStore)
    sights: list[tuple[LineAt, ...]] = field(default_factory=lambda: [(LineAt(line_id(0), LAST),)])
    rows: dict[tuple[str, str], list[tuple[Version, bytes]]] = field(default_factory=dict)

    def newest(self):
        return Version.of(0, self.store.read(lambda transaction: transaction.read_stamp))

    def write(self, number, names, value):
        def work(transaction):
            for name in names:
                cells.save(transaction, 0, line_id(number), layout.name_cell(PARENT, name), value, value)

        version = Version.of(0, self.store.run(work).committed.stamp)
        for name in names:
            self.rows.setdefault((line_id(number), name), []).append((version, value))
        return version

    def fork(self, number, version):
        self.sights.append((LineAt(line_id(len(self.sights)), LAST), *self.sight(number, version)))
        return len(self.sights) - 1

    def sight(self, number, version):
        return tuple(LineAt(at.line, min(at.version, version)) for at in self.sights[number])

    def expected(self, sight, name) -> Row | None:
        for at in sight:
            for version, value in reversed(self.rows.get((at.line, name), [])):
                if version <= at.version:
                    return Row(at.line, version, value)
        return None

    def listing(self, sight, prefix=""):
        found = [(name, self.expected(sight, name)) for name in sorted(NAMES, key=str.encode)]
        return [(name, row) for name, row in found if row and row.value != NOTHING and name.startswith(prefix)]

    def read(self, work):
        return self.store.read(lambda transaction: work(transaction.snapshot))


@pytest.fixture
def lines():
    return Lines()


def as_of(lines, sight, names):
    asked = [layout.name_cell(PARENT, name) for name in names]
    return lines.read(lambda reads: cells.as_of(reads, sight, asked))


def one_by_one(reads, sight, scope):
    return [cells.line_source(reads, at, Space.NAME, scope) for at in sight]


def ancestors_as_one(reads, sight, scope):
    """As the metastore scans: what the ancestors show is one source, tombstones resolved."""
    own, *rest = one_by_one(reads, sight, scope)

    def inherited(start, limit):
        return cells.scan(rest, start, limit, cells.has_value)

    return [own, inherited] if rest else [own]


def scanned(lines, sight, limit, sources=one_by_one, scope=SCOPE, between=lambda: None):
    """All rows, page by page, each page in a transaction of its own."""
    rows, start = [], b""
    while start is not None:
        page: Stretch = lines.read(
            lambda reads, start=start: cells.scan(sources(reads, sight, scope), start, limit, cells.has_value)
        )
        assert len(page.rows) <= limit
        rows += page.rows
        start = page.reached
        between()
    return [(name_of(scope, rest), row) for rest, row in rows]


def name_of(scope, rest):
    return (scope + rest)[len(SCOPE) + 1 : -1].decode()


def walked(lines, sight, name, limit, floor=ZERO):
    cell = layout.name_cell(PARENT, name)
    rows: list[Row] = []
    place: Place | None = None
    while True:
        page, place = lines.read(
            lambda reads, place=place: cells.walk(
                reads, sight, cell.history_prefix, floor=floor, start=place, limit=limit
            )
        )
        assert len(page) <= limit
        rows += page
        if place is None:
            return rows


# Examples


def test_the_nearest_line_that_has_a_row_decides(lines):
    first = lines.write(0, ["a", "b"], value_of(1))
    child = lines.fork(0, first)
    lines.write(0, ["a"], value_of(2))
    second = lines.write(child, ["b"], value_of(3))
    grandchild = lines.fork(child, second)
    lines.write(child, ["a", "b"], value_of(4))
    sight = lines.sight(grandchild, lines.newest())
    assert as_of(lines, sight, ["a", "b", "c"]) == [
        Row(line_id(0), first, value_of(1)),
        Row(line_id(child), second, value_of(3)),
        None,
    ]


def test_a_row_that_says_nothing_hides_what_the_ancestors_have(lines):
    first = lines.write(0, ["a", "b"], value_of(1))
    child = lines.fork(0, first)
    gone = lines.write(child, ["a"], NOTHING)
    sight = lines.sight(child, gone)
    [row] = as_of(lines, sight, ["a"])
    assert (row.line, cells.has_value(row)) == (line_id(child), False)
    assert [name for name, _ in scanned(lines, sight, 10)] == ["b"]
    assert [name for name, _ in scanned(lines, lines.sight(child, first), 10)] == ["a", "b"]


def test_a_row_at_the_version_itself_is_seen_and_the_next_one_is_not(lines):
    first, second = (lines.write(0, ["a"], value_of(number)) for number in (1, 2))
    seen = [as_of(lines, lines.sight(0, at), ["a"])[0] for at in (first.previous(), first, second, second.next())]
    assert seen[0] is None
    assert [row.value for row in seen[1:]] == [value_of(1), value_of(2), value_of(2)]


def test_nothing_asked_is_nothing_read(lines):
    assert as_of(lines, lines.sight(0, ZERO), []) == []


def test_all_cells_of_all_lines_are_one_round_trip(lines):
    sight = lines.sights[0]
    for _ in range(5):
        version = lines.write(len(lines.sights) - 1, NAMES, value_of(1))
        sight = lines.sights[lines.fork(len(lines.sights) - 1, version)]
    counted = Counting(lines)
    cells.as_of(counted, sight, [layout.name_cell(PARENT, name) for name in NAMES])
    assert counted.calls == 1


def test_rows_after_a_version_are_the_lines_own_oldest_first(lines):
    versions = [lines.write(0, ["a"], value_of(number)) for number in range(4)]
    child = lines.fork(0, versions[-1])
    cell = layout.name_cell(PARENT, "a")
    found = lines.read(lambda reads: cells.since(reads, line_id(0), cell, versions[1]))
    assert [row.version for row in found] == versions[2:]
    assert lines.read(lambda reads: cells.since(reads, line_id(child), cell, ZERO)) == []


def test_what_is_saved_has_one_version_in_its_current_and_its_history_row(lines):
    cell = layout.attribute_cell(PARENT, Attribute.SCHEMA)
    record = pb.TableSchema(schema_id=1)
    ran = lines.store.run(lambda transaction: cells.save(transaction, 7, line_id(0), cell, *codec.encode_both(record)))
    version = Version.of(7, ran.committed.stamp)
    current = lines.read(lambda reads: reads.get(cell.current_key(line_id(0))))
    assert codec.split_current(current) == (version, codec.encode(record))
    [row] = lines.read(lambda reads: cells.as_of(reads, (LineAt(line_id(0), version),), [cell]))
    assert row == Row(line_id(0), version, codec.encode_both(record)[1])


class Counting(Reads):
    """Reads that count their round trips, and refuse what FoundationDB refuses."""

    def __init__(self, lines) -> None:
        self.reads = lines.store.begin().snapshot
        self.calls = 0

    def get_many(self, keys: Sequence[bytes]):
        self.calls += 1
        return self.reads.get_many(keys)

    def get_ranges(self, reads: Sequence[RangeRead]):
        self.calls += 1
        assert all(read.range.begin <= read.range.end for read in reads), "an inverted range"
        return self.reads.get_ranges(reads)


def test_a_listing_past_thousands_of_dropped_names_takes_few_round_trips(lines):
    names = [f"t{number:04}" for number in range(3000)]
    lines.write(0, names, value_of(1))
    lines.write(0, names, NOTHING)
    version = lines.write(0, ["z"], value_of(2))
    counted = Counting(lines)
    found = cells.scan(one_by_one(counted, lines.sight(0, version), SCOPE), b"", 1, cells.has_value)
    assert [name_of(SCOPE, rest) for rest, _ in found.rows] == ["z"]
    assert counted.calls < 20


def test_the_history_since_a_version_after_the_fork_asks_the_ancestors_nothing(lines):
    """Else the range would end before it begins, and FoundationDB refuses such a one."""
    forked = lines.write(0, ["a"], value_of(1))
    child = lines.fork(0, forked)
    since = lines.write(child, ["a"], value_of(2))
    newest = lines.write(child, ["a"], value_of(3))
    counted = Counting(lines)
    prefix = layout.name_cell(PARENT, "a").history_prefix
    rows, place = cells.walk(counted, lines.sight(child, newest), prefix, floor=since, start=None, limit=10)
    assert ([row.version for row in rows], place, counted.calls) == ([newest], None, 1)


def test_a_scan_within_a_beginning_of_names_shows_only_those(lines):
    version = lines.write(0, NAMES, value_of(1))
    scope = SCOPE + layout.name_element("a")[:-1]
    assert [name for name, _ in scanned(lines, lines.sight(0, version), 1, scope=scope)] == ["a", "aa", "ab"]


def test_a_scan_does_not_leave_its_parent(lines):
    lines.write(0, ["a"], value_of(1))
    other = layout.name_cell(str(UUID(int=100)), "b")
    lines.store.run(lambda transaction: cells.save(transaction, 0, line_id(0), other, NOTHING, NOTHING))
    assert [name for name, _ in scanned(lines, lines.sight(0, lines.newest()), 1)] == ["a"]


# Beside the dictionary

steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"),
            st.integers(0, 3),
            st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
            st.booleans(),
        ),
        st.tuples(st.just("fork"), st.integers(0, 3), st.integers(0, 30)),
    ),
    max_size=25,
)


def run(steps) -> Lines:
    lines = Lines()
    for number, step in enumerate(steps):
        if step[0] == "write":
            _, line, names, says = step
            lines.write(line % len(lines.sights), names, value_of(number) if says else NOTHING)
        else:
            _, line, version = step
            lines.fork(line % len(lines.sights), min(Version.parse(version), lines.newest()))
    return lines


@given(steps, st.data())
def test_as_of_is_what_the_dictionary_says(steps, data):
    lines = run(steps)
    for number in range(len(lines.sights)):
        sight = lines.sight(number, Version.parse(data.draw(st.integers(0, int(lines.newest())))))
        assert as_of(lines, sight, NAMES) == [lines.expected(sight, name) for name in NAMES]


@given(steps, st.integers(1, 5), st.sampled_from([one_by_one, ancestors_as_one]), st.data())
def test_a_scan_in_pages_is_what_the_dictionary_says_while_writers_go_on(steps, limit, sources, data):
    lines = run(steps)
    number = data.draw(st.integers(0, len(lines.sights) - 1))
    sight = lines.sight(number, Version.parse(data.draw(st.integers(0, int(lines.newest())))))
    expected = lines.listing(sight)
    later = st.tuples(st.integers(0, len(lines.sights) - 1), st.sampled_from(NAMES), st.booleans())

    def between():
        line, name, says = data.draw(later)
        lines.write(line, [name], value_of(1000) if says else NOTHING)

    assert scanned(lines, sight, limit, sources, between=between) == expected
    assert scanned(lines, sight, limit, sources, SCOPE + layout.name_element("a")[:-1]) == lines.listing(sight, "a")


@given(steps, st.integers(1, 5), st.integers(0, 30), st.data())
def test_a_walk_in_pages_is_every_row_newest_first(steps, limit, floor, data):
    lines = run(steps)
    number = data.draw(st.integers(0, len(lines.sights) - 1))
    sight = lines.sight(number, Version.parse(data.draw(st.integers(0, int(lines.newest())))))
    for name in NAMES[:3]:
        expected = [
            Row(at.line, version, value)
            for at in sight
            for version, value in reversed(lines.rows.get((at.line, name), []))
            if Version.parse(floor) < version <= at.version
        ]
        assert walked(lines, sight, name, limit, Version.parse(floor)) == expected
        assert [row.version for row in expected] == sorted((row.version for row in expected), reverse=True)


@given(steps, st.data())
def test_no_read_asks_for_a_range_that_ends_before_it_begins(steps, data):
    lines = run(steps)
    sight = lines.sight(len(lines.sights) - 1, Version.parse(data.draw(st.integers(0, int(lines.newest())))))
    counted = Counting(lines)
    prefix = layout.name_cell(PARENT, "a").history_prefix
    floor = Version.parse(data.draw(st.integers(0, 30)))
    cells.as_of(counted, sight, [layout.name_cell(PARENT, "a")])
    cells.walk(counted, sight, prefix, floor=floor, start=Place(0, Version.parse(1)), limit=3)
    assert counted.calls <= 1 + len(sight)

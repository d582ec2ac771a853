"""ME-19: above level 0 no two files of a partition have a key in common, whichever way files come."""

from dataclasses import replace
from itertools import pairwise

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakebed
from lakebed.catalog.data.changes import append, change_files, delta_of
from lakebed.catalog.data.levels import places
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.errors import Conflict
from lakebed.table.keys.encoding import encode_key, key_types
from lakebed.table.keys.levels import clashes
from lakebed.table.manifest.delta import ADDED
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from tests.support.examples import examples

SCHEMA = {"id": "long", "name": "string"}


@pytest.fixture
def table(main):
    main.create_namespace("s")
    return main.create_table("s.t", SCHEMA, primary_key=["id"], properties={"write.inline-bytes": "0"})


def ids(*values):
    return pyarrow.table({"id": pyarrow.array(values, pyarrow.int64()), "name": [f"n{one}" for one in values]})


def entries(table):
    return [one.file for one in table.scan()._plan.files]


def levels(table):
    return sorted(one.level for one in entries(table))


def spans(table, level=1):
    found = [(one.key_min, one.key_max) for one in entries(table) if one.level == level]
    return sorted(found)


def check_apart(table):
    """No two files above level 0 overlap."""
    work = table._scope.read()
    assert list(clashes(places(work, table_state(work, table.id), entries(table)), [])) == []


def key(table, *values):
    return encode_key(key_types(table.schema), values)


def test_rows_come_in_on_level_0_and_are_compacted_onto_level_1_in_order(table):
    for values in ((5, 1), (9, 3), (2, 7)):
        table.append(ids(*values))
    table.upsert(ids(3, 4))
    assert levels(table) == [0, 0, 0, 0]
    table.compact()
    [file] = entries(table)
    assert (file.level, file.key_min, file.key_max) == (1, key(table, 1), key(table, 9))
    stored = pyarrow.parquet.read_table(table._scope.context.files.location(file.path))
    assert stored["id"].to_pylist() == [1, 2, 3, 4, 5, 7, 9]


def test_files_of_level_1_have_the_first_and_last_key_exactly(table):
    table.append(ids(*range(0, 3000, 3)))
    table.append(ids(*range(1, 3000, 3)))
    table.compact(target_bytes=2000)
    files = sorted(entries(table), key=lambda one: one.key_min)
    assert len(files) > 3
    for one in files:
        found = pyarrow.parquet.read_table(table._scope.context.files.location(one.path))["id"].to_pylist()
        assert (one.key_min, one.key_max) == (key(table, found[0]), key(table, found[-1]))
        assert found == sorted(found)
    assert all(one.key_max < other.key_min for one, other in pairwise(files))


def test_rows_of_one_key_are_never_in_two_files(table):
    table.append(ids(*[7] * 500, *range(500), *[8] * 500))
    table.compact(target_bytes=500)
    assert len(entries(table)) > 2
    check_apart(table)
    assert table.scan(where="id = 7").count() == 501


def test_only_what_new_files_overlap_is_written_again(table):
    table.append(ids(*range(1000)))
    table.compact(target_bytes=1000)
    before = {one.path: one for one in entries(table)}
    table.append(ids(400, 401))
    table.compact(target_bytes=1000)
    after = {one.path for one in entries(table)}
    gone = [before[path] for path in before.keys() - after]
    assert len(before.keys() & after) > len(before) // 2
    low, high = key(table, 400), key(table, 401)
    assert any(one.key_min <= high and low <= one.key_max for one in gone)
    assert set(levels(table)) == {1}
    check_apart(table)


def test_partitions_have_levels_of_their_own(main):
    main.create_namespace("p")
    parted = main.create_table("p.t", {"id": "long", "name": "string"}, primary_key=["id"], partition_by=["name"])
    for name in ("a", "b"):
        for first in (0, 10):
            parted.append(pyarrow.table({"id": range(first, first + 10), "name": [name] * 10}))
    parted.compact()
    assert levels(parted) == [1, 1]
    assert len(set(spans(parted))) == 1
    check_apart(parted)


def test_a_widened_partition_column_is_the_same_partition(main):
    main.create_namespace("p")
    parted = main.create_table("p.t", {"id": "long", "kind": "int"}, primary_key=["id"], partition_by=["kind"])
    parted.append(pyarrow.table({"id": [1, 5], "kind": pyarrow.array([7, 7], pyarrow.int32())}))
    parted.compact()
    with parted.evolve() as change:
        change.widen_column("kind", "long")
    parted.append(pyarrow.table({"id": [3], "kind": [7]}))
    parted.compact()
    [file] = entries(parted)
    assert (file.level, file.num_rows, len(file.partition[0].value)) == (1, 3, 8)


def test_a_sort_order_that_begins_otherwise_has_no_levels(main, table):
    with table.evolve() as change:
        change.sort_by(["name", "id"])
    table.append(ids(1, 2))
    table.append(ids(3, 4))
    table.compact()
    assert levels(table) == [0]
    with table.evolve() as change:
        change.sort_by(["id", "name desc"])
    table.append(ids(5))
    table.compact()
    assert levels(table) == [1]


def test_keys_of_several_columns_and_inside_structs_are_bounded(main):
    main.create_namespace("c")
    table = main.create_table(
        "c.t", {"a": "string", "s": "struct<b: int>", "x": "int"}, primary_key=["a", "s.b"], properties={}
    )
    form = pyarrow.struct([("b", pyarrow.int32())])
    for number in range(4):
        parts = pyarrow.array([{"b": one} for one in range(number, 40, 4)], form)
        numbers = pyarrow.array(range(number, 40, 4), pyarrow.int32())
        table.append(pyarrow.table({"a": ["a\x00" if one % 3 else "a" for one in range(10)], "s": parts, "x": numbers}))
    expected = sorted(map(repr, table.scan().to_arrow().to_pylist()))
    table.compact(target_bytes=400)
    assert set(levels(table)) == {1}
    assert len(entries(table)) > 1
    check_apart(table)
    assert sorted(map(repr, table.scan().to_arrow().to_pylist())) == expected
    for row in table.scan().to_arrow().to_pylist():
        assert table.get(row["a"], row["s"]["b"]) == row


def made(table, name, low, high, level=1):
    return DataFileRef(
        path=name,
        file_size=10,
        num_rows=1,
        level=level,
        status=ADDED,
        key_min=key(table, low),
        key_max=key(table, high),
        key_schema_id=table.schema.id,
    )


def add(table, *files, removed=(), meanwhile=None):
    seen = table._scope.read()
    state = table_state(seen, table.id)
    if meanwhile is not None:
        meanwhile()

    def do(work):
        delta = replace(delta_of(state, "compact"), added=files, removed=removed)
        change_files(work, state, delta)

    return table._scope.change(do, Request("compact", (table.id,)), seen)


def test_files_that_would_overlap_above_level_0_are_refused(table, unchanged):
    add(table, made(table, "one", 10, 20))
    for low, high in ((20, 30), (0, 10), (12, 15), (0, 99)):
        with unchanged(), pytest.raises(Conflict, match=r"two: two files of level 1 .*found one"):
            add(table, made(table, "two", low, high))
    with unchanged(), pytest.raises(Conflict, match="keys in common"):
        add(table, made(table, "a", 30, 40), made(table, "b", 40, 50))
    add(table, made(table, "two", 21, 30), made(table, "three", 15, 25, level=2), made(table, "four", 0, 99, level=0))
    add(table, made(table, "five", 5, 15), removed=[one for one in entries(table) if one.path == "one"])
    assert len(entries(table)) == 4


def test_a_file_that_is_not_live_is_not_removed(table, unchanged):
    """ME-11, KV-4: it was removed before, or never was there."""
    add(table, made(table, "one", 10, 20))
    gone = entries(table)
    add(table, made(table, "two", 10, 20), removed=gone)
    for removed in (gone, [made(table, "nowhere", 30, 40)]):
        with unchanged(), pytest.raises(Conflict, match="a file is not live"):
            add(table, made(table, "three", 50, 60), removed=removed)
    assert [one.path for one in entries(table)] == ["two"]


def test_files_that_others_add_before_the_commit_are_overlapped_by_none(table):
    with pytest.raises(Conflict, match="keys in common"):
        add(table, made(table, "one", 10, 20), meanwhile=lambda: add(table, made(table, "two", 20, 30)))
    assert [one.path for one in entries(table)] == ["two"]
    add(table, made(table, "one", 10, 19), meanwhile=lambda: add(table, made(table, "three", 31, 40)))
    add(table, made(table, "four", 50, 60), meanwhile=lambda: table.append(ids(55)))
    assert levels(table) == [0, 1, 1, 1, 1]


def test_overlaps_inside_one_transaction_are_refused_too(main, table):
    with pytest.raises(Conflict, match="keys in common"), main.transaction("two") as tx:
        add(tx.table("s.t"), made(table, "one", 10, 20))
        add(tx.table("s.t"), made(table, "two", 20, 30))


class TestFilesThatComeFromElsewhere:
    """Merge, cherry-pick, revert, restore: what would overlap comes in on level 0."""

    @pytest.fixture
    def sides(self, main, table):
        """Both sides have compacted rows of their own, of keys that lie among each other's."""
        dev = main.create_branch("dev")
        theirs = dev.table("s.t")
        theirs.append(ids(1, 5, 9))
        picked = theirs.compact()
        table.append(ids(2, 4, 8))
        table.compact()
        return dev, theirs, picked

    def test_by_merge(self, main, table, sides):
        dev, theirs, _ = sides
        main.merge(dev)
        assert levels(table) == [0, 1]
        assert [table.get(one)["id"] for one in (1, 2, 4, 5, 8, 9)] == [1, 2, 4, 5, 8, 9]
        assert levels(theirs) == [1]
        table.compact()
        assert (levels(table), table.scan().count()) == ([1], 6)
        dev.merge(main)
        check_apart(theirs)
        assert (levels(theirs), theirs.scan().count()) == ([1], 6)

    def test_by_cherry_pick(self, main, table, sides):
        _, theirs, _ = sides
        theirs.append(ids(6))
        for commit in reversed(theirs.history()[1:-1]):
            main.cherry_pick(commit)
            check_apart(table)
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 4, 5, 8, 9]

    def test_what_lies_apart_stays_on_its_level(self, main, table):
        dev = main.create_branch("dev")
        dev.table("s.t").append(ids(1, 2))
        dev.table("s.t").compact()
        table.append(ids(5, 6))
        table.compact()
        main.merge(dev)
        assert levels(table) == [1, 1]

    def test_by_revert_and_restore(self, main, table):
        table.append(ids(1, 5, 9))
        table.compact()
        version = table.version
        truncated = table.truncate()
        table.append(ids(2, 4))
        table.compact()
        main.revert(truncated)
        assert (levels(table), table.scan().count()) == ([0, 1], 5)
        main.restore_table("s.t", version)
        assert table.scan().count() == 3
        check_apart(table)


class TestAnotherKey:
    """Bounds say of which schema's key they are: a key that changes makes no row unfindable."""

    @pytest.fixture
    def changed(self, table):
        with table.evolve() as change:
            change.add_column("code", "string", default="zero", required=True)
        rows = pyarrow.table({"id": range(20), "name": ["x"] * 20, "code": [f"c{one:02}" for one in range(19, -1, -1)]})
        table.append(rows)
        table.append(ids(100))
        table.compact()
        return table

    def test_rows_are_found_by_either_key(self, changed):
        with changed.evolve() as change:
            change.primary_key(["code"])
        assert changed.get("c05")["id"] == 14
        changed.append(pyarrow.table({"id": [200], "name": ["y"], "code": ["a"]}))
        changed.compact()
        assert changed.get("c05")["id"] == 14
        assert changed.get("a")["id"] == 200
        with changed.evolve() as change:
            change.primary_key(["id"])
        assert changed.get(14)["code"] == "c05"
        changed.append(pyarrow.table({"id": [7], "name": ["again"], "code": ["b"]}))
        changed.compact()
        assert (changed.get(14)["code"], changed.get(7)["name"], levels(changed)) == ("c05", "again", [1])

    def test_files_of_another_key_come_by_merge(self, main, changed):
        dev = main.create_branch("dev")
        theirs = dev.table("s.t")
        theirs.append(pyarrow.table({"id": [50, 60], "name": ["y", "z"], "code": ["q", "p"]}))
        theirs.compact()
        with changed.evolve() as change:
            change.primary_key(["code"])
        changed.append(pyarrow.table({"id": [70], "name": ["y"], "code": ["r"]}))
        changed.compact()
        main.merge(dev)
        assert [changed.get(one)["id"] for one in ("q", "p", "r", "c00")] == [50, 60, 70, 19]
        changed.compact()
        assert [changed.get(one)["id"] for one in ("q", "p", "r", "c00")] == [50, 60, 70, 19]
        check_apart(changed)


BATCHES = st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=8), min_size=1, max_size=6)


@given(BATCHES, st.integers(1, 4))
@settings(max_examples=examples(12, 60), deadline=None)
def test_a_key_that_is_there_is_found_and_another_is_not(lake_of_its_own, batches, every):
    """ME-21, and of several rows of one key the newest, whatever was compacted in between."""
    main = lake_of_its_own()
    table = main.create_table("s.t", SCHEMA, primary_key=["id"])
    newest = {}
    for number, values in enumerate(batches):
        names = [f"{number} {place}" for place in range(len(values))]
        table.append(pyarrow.table({"id": pyarrow.array(values, pyarrow.int64()), "name": names}))
        newest.update(zip(values, names, strict=True))
        if number % every == 0:
            table.compact(target_bytes=[None, 300][number % 2])
            check_apart(table)
    for one in range(-21, 22):
        found = table.get(one)
        assert (found and found["name"]) == newest.get(one)


@pytest.fixture(scope="module")
def lake_of_its_own(tmp_path_factory):
    def main():
        made = lakebed.connect(tmp_path_factory.mktemp("lake")).catalog()
        made.create_namespace("s")
        return made

    return main


def test_appended_files_have_bounds_of_their_keys(table):
    table.append(ids(5, 3, 9))
    [file] = entries(table)
    assert (file.key_min, file.key_max) == (key(table, 3), key(table, 9))
    assert file.key_schema_id == table.schema.id
    work = table._scope.read()
    append(work, table_state(work, table.id), [DataFileRef(path="x", num_rows=1)])
    assert not next(iter(work.deltas.values())).added[0].key_max


COLUMNS = {"id": "long", "name": "string"}


def rows(*pairs):
    ids, names = zip(*pairs, strict=True)
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "name": pyarrow.array(names)})


def content(table):
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


@pytest.fixture
def keyed(main):
    return main.create_table("keyed", COLUMNS, primary_key=["id"])


def placed(table):
    work = table._scope.read()
    state = table_state(work, table.id)
    return places(work, state, live_files(work, state).values())


@pytest.mark.usefixtures("in_files")
class TestLevels:
    def test_a_merged_delete_does_not_lift_a_file_above_those_that_it_overlaps(self, main, keyed):
        keyed.append(rows((1, "a"), (5, "b")))
        dev = main.create_branch("dev")
        keyed.append(rows((10, "c"), (20, "d")))
        keyed.compact()
        for row in ((12, "e"), (14, "f"), (18, "g")):
            dev.table("keyed").append(rows(row))
        dev.table("keyed").compact(where="id > 11")
        main.merge(dev)
        dev.table("keyed").delete("id = 14")
        main.merge(dev)
        assert content(keyed) == [(1, "a"), (5, "b"), (10, "c"), (12, "e"), (18, "g"), (20, "d")]
        assert list(clashes(placed(keyed), [])) == []

    def test_a_transaction_can_delete_rows_and_compact_the_files_beside_them(self, main, keyed):
        for pairs in ([(1, "a"), (5, "b"), (9, "c")], [(2, "d")]):
            keyed.append(rows(*pairs))
        keyed.compact()
        for row in ((6, "e"), (20, "f"), (21, "g")):
            keyed.append(rows(row))
        with main.transaction("both") as tx:
            tx.table("keyed").delete("id = 5")
            tx.table("keyed").compact()
        assert content(keyed) == [(1, "a"), (2, "d"), (6, "e"), (9, "c"), (20, "f"), (21, "g")]
        assert list(clashes(placed(keyed), [])) == []
        assert len(placed(keyed)) == 3

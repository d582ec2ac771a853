"""Merges by row, however the rows are stored, and in whichever order branches come."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed import Catalog, Conflict
from lakebed.arrow.read.stored import ParquetRows
from tests.lake.changes.test_changes_laws import a_lake
from tests.lake.merge.test_merge_rows import MO_25, ROWS, conflicts, seen
from tests.support.examples import examples

FORMS = {
    "in files": {"write.inline-bytes": "0"},
    "inline": {"write.inline-bytes": "64000"},
    "copied on write": {"write.inline-bytes": "0", "write.row-changes": "copy-on-write"},
}


def made(main: Catalog, form: str, key: list[str], partition_by: list[str]) -> Catalog:
    table = main.create_table(
        "t", {"id": "long", "a": "string", "b": "long"}, partition_by=partition_by, primary_key=key
    )
    table.set_properties(FORMS[form])
    table.append(ROWS[:2])
    table.append(ROWS[2:])
    return main.create_branch("dev")


def compact(main: Catalog, dev: Catalog) -> None:
    main.table("t").compact()


def evolve(main: Catalog, dev: Catalog) -> None:
    with dev.table("t").evolve() as change:
        change.add_column("c", "long", default=5)
    with main.table("t").evolve() as change:
        change.add_column("d", "string")


BEFORE = {"at once": lambda main, dev: None, "after a compaction": compact, "after both grew a column": evolve}


@pytest.mark.parametrize("case", MO_25)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("partition_by", [[], ["bucket(2, id)"]], ids=["whole", "partitioned"])
@pytest.mark.parametrize("key", [["id"], []], ids=["keyed", "without a key"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.sampled(6)
def test_both_sides_change_a_row_however_rows_are_stored(main, case, form, before, partition_by, key, turned):
    dev = made(main, form, key, partition_by)
    BEFORE[before](main, dev)
    one, other, expected = MO_25[case]
    for line, change in zip((main, dev), (other, one) if turned else (one, other), strict=True):
        change(line.table("t"))
    if "insert" in case and not key:
        expected = []  # without a key they are two rows
    assert [found.what for found in conflicts(main, dev)] == expected
    if expected:
        with pytest.raises(Conflict):
            main.merge(dev)
        main.merge(dev, strategy="theirs")
        disputed = 9 if "insert" in case else 1
        assert seen(main).get(disputed) == seen(dev).get(disputed)
    else:
        main.merge(dev)
    dev.merge(main)
    assert seen(main) == seen(dev)
    assert main.table("t").scan().count() == len(seen(main)) + ("insert" in case and not key)


def test_rows_that_both_sides_deleted_are_known_by_where_they_are(main, monkeypatch):
    """Their ids follow from their files' first ids: no column is read."""
    dev = made(main, "in files", [], [])
    main.table("t").delete("id in (1, 3)")
    dev.table("t").delete("id in (1, 4)")
    read = []
    batches = ParquetRows.batches
    monkeypatch.setattr(ParquetRows, "batches", lambda *given: read.append(given) or batches(*given))
    main.merge(dev)
    assert read == []
    assert sorted(seen(main)) == [2, 5]


CHANGES = st.dictionaries(st.integers(1, 5), st.sampled_from(["a", "b", "both", "delete"]), min_size=1, max_size=5)


@given(CHANGES, CHANGES, st.sampled_from(list(FORMS)), st.booleans(), st.booleans())
@settings(max_examples=examples(20, 400), deadline=None)
def test_disjoint_changes_give_the_same_rows_in_either_order_and_none_is_lost_or_doubled(
    one, other, form, keyed, compacted
):
    other = {id: "b" if one[id] == "a" else "a" for id in other if one.get(id) in ("a", "b")} | {
        id: what for id, what in other.items() if id not in one
    }
    with a_lake() as lake:
        main = lake.catalog()
        dev = made(main, form, ["id"] if keyed else [], [])
        sources = [(dev, one, "dev"), (main.create_branch("other"), other, "other")]
        for line, changes, value in sources:
            change_rows(line, changes, value)
        if compacted:
            dev.table("t").compact()
        first, second = main.create_branch("first"), main.create_branch("second")
        for line, order in ((first, sources), (second, sources[::-1])):
            for source, _, _ in order:
                line.merge(source)
        assert rows_in(first) == rows_in(second) == rows_after(sources)


def change_rows(line: Catalog, changes: dict[int, str], value: str) -> None:
    for id, what in changes.items():
        if what == "delete":
            line.table("t").delete(f"id = {id}")
        else:
            cells = {"a": f"'{value}'", "b": str(len(value))}
            line.table("t").update(cells if what == "both" else {what: cells[what]}, f"id = {id}")


def rows_in(line: Catalog) -> list[tuple[int, str, int]]:
    return sorted(tuple(row.values()) for row in line.table("t").scan().to_arrow().to_pylist())


def rows_after(sources) -> list[tuple[int, str, int]]:
    rows = {row["id"]: dict(row) for row in ROWS}
    for _, changes, value in sources:
        for id, what in changes.items():
            if what == "delete":
                del rows[id]
            else:
                cells = {"a": value, "b": len(value)}
                rows[id] |= cells if what == "both" else {what: cells[what]}
    return sorted(tuple(row.values()) for row in rows.values())


@pytest.mark.parametrize("form", FORMS)
def test_cells_of_many_rows_are_compared_each_with_its_own_row_of_the_base(main, form):
    dev = made(main, form, [], [])
    main.table("t").update({"a": "'main'"}, "id in (1, 2, 4)")
    dev.table("t").update({"b": "b + 100"}, "id in (1, 2, 3, 4)")
    assert conflicts(main, dev) == []
    main.merge(dev)
    assert seen(main) == {1: ("main", 101), 2: ("main", 102), 3: ("a3", 103), 4: ("main", 104), 5: ("a5", 5)}
    assert main.table("t").scan().count() == 5

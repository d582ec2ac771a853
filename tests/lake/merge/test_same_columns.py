"""A column of one name and type that two lines add is one column, and nothing that was dropped comes back in it."""

import pyarrow as pa
import pytest

from lakebed import Catalog, Conflict
from tests.lake.merge.test_merge_rows import two_lines


@pytest.fixture(params=["keyed", "without a key"])
def lines(request, main: Catalog):
    return two_lines(main, ["id"] if request.param == "keyed" else [])


def add(line: Catalog, path: str, type: str, **more) -> None:
    with line.table("t").evolve() as change:
        change.add_column(path, type, **more)


def values(line: Catalog, *names: str) -> dict[int, object]:
    rows = line.table("t").scan(columns=["id", *names]).to_arrow().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: tuple(row[name] for name in names) if len(names) > 1 else row[names[0]] for row in rows}


def test_a_column_that_two_lines_added_has_the_values_of_both(lines):
    main, dev = lines
    add(main, "note", "string")
    add(dev, "note", "string")
    main.table("t").update({"note": "'main'"}, "id = 1")
    dev.table("t").update({"note": "'dev'"}, "id = 2")
    dev.table("t").update({"a": "'A'"}, "id = 1")
    dev.table("t").append([{"id": 9, "note": "new"}])
    assert main.table("t").changes(dev.table("t"), columns=["note"]).count() == 5  # both show it before any merge
    assert main.merge(dev).conflicts == ()
    assert values(main, "note") == {1: "main", 2: "dev", 3: None, 4: None, 5: None, 9: "new"}
    assert values(main, "a")[1] == "A"
    assert main.table("t").scan("note = 'dev'").count() == 1
    dev.merge(main)
    dev.table("t").update({"note": "'again'"}, "id = 2")
    main.merge(dev)
    assert values(main, "note") == values(dev, "note") == {1: "main", 2: "again", 3: None, 4: None, 5: None, 9: "new"}
    assert [row for row in main.diff(dev) if row.type == "table"] == []


def test_rows_bring_the_same_column_to_two_lines(lines):
    main, dev = lines
    main.table("t").append([{"id": 7, "a": "x", "b": 1, "tax": 1.5}], evolve="add")
    dev.table("t").append([{"id": 8, "a": "y", "b": 2, "tax": 2.5}], evolve="add")
    main.merge(dev)
    assert values(main, "tax") == {1: None, 2: None, 3: None, 4: None, 5: None, 7: 1.5, 8: 2.5}


def test_cells_of_the_new_column_are_merged_and_disputed_like_all_others(lines):
    main, dev = lines
    for line, value in ((main, 1), (dev, 2)):
        add(line, "n", "int")
        line.table("t").update({"n": str(value)}, "id = 1")
    [conflict] = main.merge(dev, dry_run=True).conflicts
    assert (conflict.what, conflict.columns, conflict.ours["n"], conflict.theirs["n"]) == ("row", ("n",), 1, 2)
    main.merge(dev, strategy="theirs")
    assert values(main, "n")[1] == 2


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("struct<x: int, y: struct<z: string>>", {"x": 1, "y": {"z": "q"}}),
        ("list<long>", [1, 2]),
        ("map<string, list<int>>", [("k", [3])]),
        ("decimal(9, 2)", None),
    ],
)
def test_nested_columns_are_one_with_everything_inside(lines, type, value):
    main, dev = lines
    for line in lines:
        add(line, "v", type)
    dev.table("t").append([{"id": 9, "a": "z", "b": 0, "v": value}])
    main.table("t").append([{"id": 8, "a": "z", "b": 0, "v": value}])
    main.merge(dev)
    assert values(main, "v")[9] == values(main, "v")[8] == value
    main.table("t").compact()
    assert values(main, "v")[9] == value


def test_a_field_added_to_a_struct_on_two_lines_is_one_field(main):
    table = main.create_table("t", {"id": "long", "s": "struct<x: int>"})
    table.append([{"id": 1, "s": {"x": 1}}])
    dev = main.create_branch("dev")
    for line in (main, dev):
        add(line, "s.y", "int")
    dev.table("t").append([{"id": 2, "s": {"x": 2, "y": 20}}])
    main.table("t").append([{"id": 3, "s": {"x": 3, "y": 30}}])
    main.merge(dev)
    assert values(main, "s") == {1: {"x": 1, "y": None}, 2: {"x": 2, "y": 20}, 3: {"x": 3, "y": 30}}


DIFFERENT = {
    "types": (("n", "int", {}), ("n", "string", {}), "column n: name"),
    "types inside": (("n", "struct<x: int>", {}), ("n", "struct<x: long>", {}), "column n: name"),
    "defaults": (("n", "int", {"default": 1}), ("n", "int", {"default": 2}), "column n: default"),
    "comments": (("n", "int", {"comment": "one"}), ("n", "int", {"comment": "two"}), "column n: comment"),
    "spellings": (("n", "int", {}), ("N", "int", {}), "column n: name"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_columns_of_one_name_that_differ_are_a_conflict(lines, unchanged, name):
    main, dev = lines
    (path, type, more), (other, other_type, others), what = DIFFERENT[name]
    add(main, path, type, **more)
    add(dev, other, other_type, **others)
    with unchanged(), pytest.raises(Conflict) as refused:
        main.merge(dev)
    assert [conflict.what for conflict in refused.value.conflicts] == [what]
    assert [conflict.what for conflict in dev.merge(main, dry_run=True).conflicts] == [what]


def test_what_one_line_says_more_about_the_column_is_taken(lines):
    main, dev = lines
    add(main, "n", "int")
    add(dev, "n", "int", comment="how many")
    with dev.table("t").evolve() as change:
        change.widen_column("n", "long")
        change.set_default("n", 7)
    dev.table("t").append([{"id": 9, "n": 2**40}])
    main.table("t").append([{"id": 8, "n": 3}])
    assert main.merge(dev).conflicts == ()
    field = main.table("t").schema.field("n")
    assert (str(field.type), field.comment, field.write_default) == ("long", "how many", 7)
    assert values(main, "n") == {1: None, 2: None, 3: None, 4: None, 5: None, 8: 3, 9: 2**40}


def test_a_column_that_the_other_line_had_widened_was_called_corrupt(lines):
    main, dev = lines
    add(dev, "n", "int")
    dev.table("t").append([{"id": 9, "n": 5}])
    with dev.table("t").evolve() as change:
        change.widen_column("n", "long")
    add(main, "n", "long")
    main.merge(dev)
    assert [row["id"] for row in main.table("t").scan("n = 5").to_arrow().to_pylist()] == [9]


def test_what_a_line_has_dropped_does_not_come_back_in_a_column_of_the_same_name(lines):
    main, _ = lines
    add(main, "n", "int")
    main.table("t").update({"n": "1"}, "id = 1")
    other = main.create_branch("other")
    add(other, "m", "int")  # so that another line has a schema of its own with the column
    with main.table("t").evolve() as change:
        change.drop_column("n")
    add(main, "n", "int")
    assert values(main, "n")[1] is None
    assert values(other, "n")[1] == 1


@pytest.mark.parametrize("type", ["int", "list<int>"])
def test_rows_that_were_picked_without_their_column_were_in_the_way_of_one_column(lines, type):
    """A pick brings rows and no column. A column of that name and type that is added later is theirs."""
    main, dev = lines
    value = 1 if type == "int" else [1]
    add(dev, "n", type)
    main.cherry_pick(dev.table("t").append([{"id": 9, "a": "z", "b": 0, "n": value}]))
    dev.table("t").append([{"id": 10, "a": "z", "b": 0, "n": value}])
    add(main, "n", type)
    main.table("t").append([{"id": 8, "a": "z", "b": 0, "n": value}])
    assert values(main, "n")[9] == value  # which the row has had since it was made
    assert main.merge(dev).conflicts == ()
    assert {id: found for id, found in values(main, "n").items() if found} == {8: value, 9: value, 10: value}


@pytest.mark.parametrize("type", ["int", "struct<x: int, y: list<string>>"])
def test_a_column_that_two_lines_add_in_the_same_moment_was_two_columns(lines, type):
    main, dev = lines
    with main.transaction("together") as tx:
        with tx.table("t").evolve() as change:
            change.add_column("n", type, comment="ours")
        add(dev, "n", type, default=None)
    assert main.table("t").schema.field("n").id == dev.table("t").schema.field("n").id
    value = 1 if type == "int" else {"x": 1, "y": ["z"]}
    for id, line in enumerate(lines, 8):
        line.table("t").append([{"id": id, "a": "z", "b": 0, "n": value}])
    assert main.merge(dev).conflicts == ()
    assert {id: found for id, found in values(main, "n").items() if found} == {8: value, 9: value}


def test_a_column_that_nobody_committed_gives_its_place_to_the_next(lines):
    main, dev = lines
    with pytest.raises(ZeroDivisionError), main.transaction("given up") as tx:
        with tx.table("t").evolve() as change:
            change.add_column("n", "int")
        raise ZeroDivisionError
    for line in lines:
        add(line, "n", "int")
        with line.table("t").evolve() as change:
            change.drop_column("n")
    add(main, "n", "int")  # another one: what both have dropped does not come back
    ids = {way[-1].id for way in dev.table("t").schema.ways.values()}
    assert main.table("t").schema.field("n").id > max(ids) + 1


@pytest.mark.parametrize("way", ["merged", "staged"])
@pytest.mark.parametrize("type", ["int", "list<int>"])
def test_values_that_came_from_another_line_without_their_column_stay_hidden(lines, way, type):
    """A merge leaves out a column whose name is taken, if ours wins."""
    main, dev = lines
    row = {"id": 9, "a": "z", "b": 0, "n": 1 if type == "int" else [1]}
    add(main, "n", "string")
    add(dev, "n", type)
    if way == "staged":
        stream = dev.table("t").stage_stream()
        stream.append([row])
    else:
        dev.table("t").append([row])
    main.merge(dev, strategy="ours")
    with main.table("t").evolve() as change:
        change.drop_column("n")
    add(main, "n", type)
    if way == "staged":
        main.table("t").stream(stream.locator.stream).commit(seen=main.version)
    assert values(main, "n")[9] is None


@pytest.mark.parametrize("way", ["dropped", "reverted"])
def test_a_column_that_the_other_line_gave_up_before_is_not_in_the_way(lines, way):
    main, dev = lines
    add(dev, "n", "int")
    added = dev.log(1)[0]
    dev.table("t").append([{"id": 9, "a": "z", "b": 0, "n": 5}])
    if way == "reverted":
        dev.revert(added)
    else:
        with dev.table("t").evolve() as change:
            change.drop_column("n")
    add(main, "n", "int")
    main.table("t").update({"n": "1"}, "id = 1")
    main.merge(dev)
    assert values(main, "n") == {1: 1, 2: None, 3: None, 4: None, 5: None, 9: None}


def test_a_column_that_one_line_dropped_again_and_the_other_added_is_a_conflict(lines, unchanged):
    main, dev = lines
    add(dev, "n", "int")
    dev.table("t").append([{"id": 9, "n": 5}])
    add(main, "n", "int")
    with dev.table("t").evolve() as change:
        change.drop_column("n")
    with unchanged(), pytest.raises(Conflict) as refused:
        main.merge(dev)
    [conflict] = refused.value.conflicts
    assert (conflict.what, conflict.base, conflict.ours, conflict.theirs) == ("column n", "none", "n: int", "dropped")
    main.merge(dev, strategy="theirs")
    assert main.table("t").schema.names == ("id", "a", "b")


def test_a_column_that_was_renamed_is_not_taken_up_under_its_old_name(lines):
    main, dev = lines
    add(dev, "n", "int")
    with dev.table("t").evolve() as change:
        change.rename_column("n", "m")
    dev.table("t").update({"m": "1"}, "id = 1")
    add(main, "n", "int")
    main.merge(dev)
    assert values(main, "n", "m")[1] == (None, 1)


def test_a_reverted_column_comes_again_with_the_merge_and_the_revert_of_its_revert(lines):
    main, dev = lines
    add(dev, "n", "int")
    dev.table("t").update({"n": "1"}, "id = 1")
    main.table("t").update({"a": "'main'"}, "id = 2")
    merged = main.merge(dev).commit
    undone = main.revert(merged)
    main.revert(undone)
    assert values(main, "n")[1] == 1
    main.reset(merged.version.previous())
    main.merge(dev)
    assert values(main, "n")[1] == 1


def test_rows_that_were_written_while_another_line_added_their_column_lost_its_values(main):
    """The ids of the new column are in the files: a commit that is made again keeps them."""
    table = main.create_table("t", {"id": "long"})
    table.append([{"id": 1}])
    dev = main.create_branch("dev")
    rows = pa.table({"id": [2], "n": [2]})

    def while_written():
        dev.table("t").append([{"id": 5, "n": 5}], evolve="add")
        add(main, "other", "int")
        yield from rows.to_batches()

    table.append(pa.RecordBatchReader.from_batches(rows.schema, while_written()), evolve="add")
    assert values(main, "n") == {1: None, 2: 2}

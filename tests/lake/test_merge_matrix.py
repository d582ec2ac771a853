"""The merge matrix of acceptance/002, cell by cell, in both directions; data at file level."""

from collections.abc import Callable

import pytest

from lakebed import Catalog, Conflict
from tests.support.changed_files import append_file, compact, delete_rows, live, overwrite

Do = Callable[[Catalog], None]

FINE, CONFLICT, DROP_WINS, REPORTED = "fine", "conflict", "drop wins", "drop wins, reported"


def table(line: Catalog):
    found = [one for one in line.tables("s") if one.name in ("s.t", "s.renamed")]
    return found[0]


def drop(line: Catalog) -> None:
    line.drop_table("s.t")


def rename(line: Catalog) -> None:
    line.rename_table("s.t", "s.renamed")


def properties(line: Catalog) -> None:
    table(line).set_properties({"owner": "ada"})


def schema(line: Catalog) -> None:
    with table(line).evolve() as change:
        change.add_column("added", "string")


def spec(line: Catalog) -> None:
    with table(line).evolve() as change:
        change.partition_by(["bucket(4, id)"])


def sort(line: Catalog) -> None:
    with table(line).evolve() as change:
        change.sort_by(["id desc"])


def append(line: Catalog) -> None:
    append_file(table(line))


def overwritten(line: Catalog) -> None:
    overwrite(table(line))


def rows(line: Catalog) -> None:
    delete_rows(table(line), first(line))


def compacted(line: Catalog) -> None:
    compact(table(line))


def first(line: Catalog) -> str:
    return next(iter(live(table(line))))


ALL: dict[str, Do] = {
    "drop": drop,
    "rename": rename,
    "properties": properties,
    "schema": schema,
    "spec": spec,
    "sort": sort,
    "append": append,
    "overwrite": overwritten,
    "rows changed": rows,
    "compacted": compacted,
}

CELLS = [
    *(("drop", other, CONFLICT) for other in ("rename", "schema", "append", "overwrite", "rows changed")),
    ("drop", "drop", FINE),
    ("drop", "properties", REPORTED),
    ("drop", "spec", REPORTED),
    ("drop", "sort", REPORTED),
    ("drop", "compacted", DROP_WINS),
    *(("rename", other, FINE) for other in list(ALL)[1:]),
    *(("properties", other, FINE) for other in list(ALL)[2:]),
    *(("schema", other, FINE) for other in list(ALL)[4:]),
    *((one, other, FINE) for one in ("spec", "sort") for other in list(ALL)[6:]),
    ("spec", "spec", FINE),
    ("sort", "sort", FINE),
    ("spec", "sort", FINE),
    ("append", "append", FINE),
    ("append", "overwrite", CONFLICT),
    ("append", "rows changed", FINE),
    ("append", "compacted", FINE),
    ("overwrite", "overwrite", CONFLICT),
    ("overwrite", "rows changed", CONFLICT),
    ("overwrite", "compacted", CONFLICT),
    ("rows changed", "rows changed", FINE),
    ("rows changed", "compacted", FINE),
    ("compacted", "compacted", FINE),
]


@pytest.fixture
def lines(main: Catalog) -> tuple[Catalog, Catalog]:
    """A table of two files, and a branch that has it too."""
    main.create_namespace("s")
    made = main.create_table("s.t", {"id": "long"})
    append_file(made)
    append_file(made)
    return main, main.create_branch("dev")


def seen(line: Catalog) -> list[object]:
    """All that a merge could change."""
    found = []
    for one in line.tables("s"):
        spec, order = str(one.spec), str(one.sort_order)
        found.append((one.name, one.id, one.properties, one.schema, spec, order, live(one)))
    return found


@pytest.mark.parametrize(("one", "other", "expected"), CELLS)
@pytest.mark.parametrize("direction", ["into main", "into dev"])
def test_two_changes_meet_as_the_matrix_says(lines, unchanged, one, other, expected, direction):
    ours, theirs = lines if direction == "into main" else lines[::-1]
    ALL[one](ours)
    ALL[other](theirs)
    if expected is CONFLICT:
        with unchanged(), pytest.raises(Conflict) as caught:
            ours.merge(theirs)
        assert [row.name for row in caught.value.conflicts]
        assert ours.merge(theirs, dry_run=True).conflicts == caught.value.conflicts
        return
    result = ours.merge(theirs)
    assert result.conflicts == ()
    assert [row.what for row in result.reported] == (["drop"] if expected is REPORTED else [])
    assert result.commit is not None
    if "drop" in (one, other):
        assert seen(ours) == []
    else:
        assert effects(ours, {one, other}) == {one, other} - {"compacted"} | still_compacted(one, other)
    assert ours.merge(theirs).commit is None


def still_compacted(one: str, other: str) -> set[str]:
    """A compaction gives way for files whose rows the other side changed."""
    return {"compacted"} & {one, other} if "rows changed" not in (one, other) else set()


def effects(line: Catalog, asked: set[str]) -> set[str]:
    """Which of the changes can be seen."""
    one = table(line)
    files = live(one)
    originals = 2 if "compacted" not in asked or "rows changed" in asked else 0
    found = {
        "rename": one.name == "s.renamed",
        "properties": one.properties == {"owner": "ada"},
        "schema": one.schema.names == ("id", "added"),
        "spec": "bucket" in str(one.spec),
        "sort": "desc" in str(one.sort_order),
        "rows changed": any(files.values()),
        "overwrite": "overwrite" in asked and len(files) == 1,
        "append": "append" in asked and len(files) > max(originals, 1),
        "compacted": "compacted" in asked and len(files) <= 2 and not any(files.values()),
    }
    return {what for what, done in found.items() if done} & asked


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
@pytest.mark.parametrize(("one", "other"), [cell[:2] for cell in CELLS if cell[2] is CONFLICT])
@pytest.mark.parametrize("turned", ["as it stands", "turned"])
def test_a_strategy_settles_a_conflict_for_one_side(lines, one, other, strategy, turned):
    main, dev = lines
    ALL[one if turned == "as it stands" else other](main)
    ALL[other if turned == "as it stands" else one](dev)
    ours, theirs = seen(main), seen(dev)
    result = main.merge(dev, strategy=strategy)
    assert result.conflicts
    if "append" not in (one, other) or "drop" in (one, other):
        assert seen(main) == (ours if strategy == "ours" else theirs)
    assert main.merge(dev, strategy=strategy).commit is None


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        (lambda line: line.rename_table("s.t", "s.a"), lambda line: line.rename_table("s.t", "s.b"), "name"),
        (
            lambda line: table(line).set_properties({"owner": "ada"}),
            lambda line: table(line).set_properties({"owner": "bob"}),
            "property owner",
        ),
        (
            lambda line: line.set_properties({"owner": "ada"}),
            lambda line: line.set_properties({"owner": "bob"}),
            "property owner",
        ),
        (lambda line: add_column(line, "x", "string"), lambda line: add_column(line, "X", "string"), None),
        (spec, lambda line: partition(line, "bucket(8, id)"), "spec"),
        (sort, lambda line: order(line, "id"), "sort order"),
        (rows, lambda line: delete_rows(table(line), first(line), "b.puffin"), None),
        (
            lambda line: line.create_table("s.n", {"a": "int"}),
            lambda line: line.create_table("s.N", {"a": "int"}),
            "name",
        ),
        (lambda line: line.rename_table("s.t", "s.n"), lambda line: line.create_table("s.n", {"a": "int"}), "name"),
        (lambda line: line.create_view("s.n", "select 1"), lambda line: line.create_table("s.n", {"a": "int"}), "name"),
    ],
)
@pytest.mark.parametrize("direction", ["into main", "into dev"])
def test_the_same_thing_changed_in_two_ways_is_a_conflict(lines, unchanged, one, other, what, direction):
    ours, theirs = lines if direction == "into main" else lines[::-1]
    one(ours)
    other(theirs)
    with unchanged(), pytest.raises(Conflict) as caught:
        ours.merge(theirs)
    [row] = caught.value.conflicts
    assert what is None or row.what == what
    for strategy in ("ours", "theirs"):
        assert ours.merge(theirs, strategy=strategy, dry_run=True).conflicts == (row,)
    ours.merge(theirs, strategy="theirs")
    assert ours.merge(theirs).commit is None


def add_column(line: Catalog, name: str, kind: str) -> None:
    with table(line).evolve() as change:
        change.add_column(name, kind)


def partition(line: Catalog, text: str) -> None:
    with table(line).evolve() as change:
        change.partition_by([text])


def order(line: Catalog, text: str) -> None:
    with table(line).evolve() as change:
        change.sort_by([text])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda line: line.rename_table("s.t", "s.a"),) * 2,
        (lambda line: table(line).set_properties({"owner": "ada"}),) * 2,
        (lambda line: table(line).set_properties({"a": "1"}), lambda line: table(line).set_properties({"b": "1"})),
        (lambda line: add_column(line, "x", "string"), lambda line: add_column(line, "y", "string")),
        (rows, lambda line: delete_rows(table(line), list(live(table(line)))[1])),
        (lambda line: line.create_table("s.n", {"a": "int"}), lambda line: line.create_table("s.m", {"a": "int"})),
        (lambda line: line.drop_namespace("s", cascade=True),) * 2,
    ],
)
def test_changes_that_do_not_meet_both_take_effect(lines, one, other):
    main, dev = lines
    one(main)
    other(dev)
    assert main.merge(dev).conflicts == ()
    dev.merge(main)
    assert seen(main) == seen(dev) if main.namespace_exists("s") else not dev.namespace_exists("s")


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (lambda line: line.create_table("s.new", {"a": "int"}), CONFLICT),
        (lambda line: line.create_view("s.new", "select 1"), CONFLICT),
        (lambda line: line.create_namespace("s.new"), CONFLICT),
        (append, CONFLICT),
        (rename, CONFLICT),
        (schema, CONFLICT),
        (properties, REPORTED),
        (compacted, DROP_WINS),
        (lambda line: line.namespace("s").set_properties({"a": "b"}), REPORTED),
        (lambda line: line.rename_namespace("s", "r"), CONFLICT),
        (lambda line: None, FINE),
    ],
)
@pytest.mark.parametrize("direction", ["into main", "into dev"])
def test_a_dropped_namespace_meets_what_was_done_in_it(lines, unchanged, inside, expected, direction):
    ours, theirs = lines if direction == "into main" else lines[::-1]
    inside(ours)
    theirs.drop_namespace("s", cascade=True)
    if expected is CONFLICT:
        with unchanged(), pytest.raises(Conflict):
            ours.merge(theirs)
        with unchanged(), pytest.raises(Conflict):
            theirs.merge(ours)
        return
    result = ours.merge(theirs)
    assert [row.what for row in result.reported] == (["drop"] if expected is REPORTED else [])
    assert not ours.namespace_exists("s")
    theirs.merge(ours)
    assert not theirs.namespace_exists("s")


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_what_is_in_a_namespace_that_was_dropped_is_kept_or_goes_as_the_strategy_says(lines, strategy):
    main, dev = lines
    made = main.create_table("s.new", {"a": "int"})
    dev.drop_namespace("s", cascade=True)
    assert dev.merge(main, strategy=strategy).conflicts
    assert dev.table_exists("s.new") is (strategy == "theirs")
    assert dev.table_exists("s.t") is (strategy == "theirs")
    assert main.table("s.new") == made


def test_a_table_that_loses_its_name_can_be_undropped(lines):
    main, dev = lines
    mine, other = main.create_table("s.n", {"a": "int"}), dev.create_table("s.n", {"a": "int"})
    main.merge(dev, strategy="ours")
    assert main.table("s.n").id == mine.id
    main.undrop_table("s.n", id=other.id, as_name="s.theirs")
    assert main.table("s.theirs").id == other.id

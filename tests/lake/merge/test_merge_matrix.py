"""The merge matrix of acceptance/002, cell by cell, in both directions: data cells on files and vectors of calls."""

from collections.abc import Callable

import pytest

from lakebed import Catalog, Conflict, Table
from tests.support.changed_files import live
from tests.support.row_tables import ids

Do = Callable[[Catalog], None]

FINE, CONFLICT, DROP_WINS, REPORTED = "fine", "conflict", "drop wins", "drop wins, reported"

FIRST, SECOND = (1, 2, 3), (4, 5, 6)
"""The ids in the table's two files."""


def table(line: Catalog) -> Table:
    [found] = [table for table in line.tables("s") if table.name in ("s.t", "s.renamed")]
    return found


def on_main(line: Catalog) -> bool:
    """Whether this is the side `main`: the two sides write other rows, in other files."""
    return line.ref == "main"


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
    table(line).append(numbered(*appended(line)))


def appended(line: Catalog) -> tuple[int, ...]:
    return (11,) if on_main(line) else (21, 22)


def overwritten(line: Catalog) -> None:
    table(line).overwrite(numbered(*replacement(line)))


def replacement(line: Catalog) -> tuple[int, ...]:
    return (31,) if on_main(line) else (41, 42)


def rows(line: Catalog) -> None:
    """A row less in one of the two files: each side writes a vector of its own."""
    table(line).delete(f"id = {deleted(line)}")


def deleted(line: Catalog) -> int:
    return FIRST[0] if on_main(line) else SECOND[0]


def compacted(line: Catalog) -> None:
    table(line).compact()


def numbered(*ids: int) -> list[dict[str, int]]:
    return [{"id": number} for number in ids]


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
    ("overwrite", "rows changed", FINE),
    ("overwrite", "compacted", FINE),
    ("rows changed", "rows changed", FINE),
    ("rows changed", "compacted", FINE),
    ("compacted", "compacted", FINE),
]


@pytest.fixture(params=["vectors", pytest.param("rewritten files", marks=pytest.mark.long)])
def lines(main: Catalog, request: pytest.FixtureRequest) -> tuple[Catalog, Catalog]:
    """A table of two files, and a branch that has it too; deletes write vectors, or files again."""
    mode = "merge-on-read" if request.param == "vectors" else "copy-on-write"
    main.create_namespace("s")
    own = {"write.inline-bytes": "0", "write.delete.mode": mode}
    made = main.create_table("s.t", {"id": "long"}, properties=own)
    made.append(numbered(*FIRST))
    made.append(numbered(*SECOND))
    return main, main.create_branch("dev")


def seen(line: Catalog) -> list[object]:
    """All that a merge could change."""
    found = []
    for one in line.tables("s"):
        spec, order = str(one.spec), str(one.sort_order)
        found.append((one.name, one.id, one.properties, one.schema.fields, spec, order, live(one), content(one)))
    return found


def content(table: Table) -> list[str]:
    return sorted(map(str, table.scan().to_arrow().to_pylist()))


@pytest.mark.parametrize(("one", "other", "expected"), CELLS)
@pytest.mark.parametrize("direction", ["into main", "into dev"])
def test_two_changes_meet_as_the_matrix_says(lines, unchanged, one, other, expected, direction):
    ours, theirs = lines if direction == "into main" else lines[::-1]
    ALL[one](ours)
    ALL[other](theirs)
    mine = {path for here in ours.tables("s") for path in live(here)}
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
        assert shapes(ours) == {one, other} & {"rename", "properties", "schema", "spec", "sort"}
        assert ids(table(ours)) == merged_ids({ours: one, theirs: other})
        assert len(live(table(ours))) == merged_files(one, other)
    if (one, other) == ("compacted", "compacted"):
        assert set(live(table(ours))) == mine, "of two compactions of the same files the destination's stays"
    assert ours.merge(theirs).commit is None


def shapes(line: Catalog) -> set[str]:
    """Which of the changes that are not to rows can be seen."""
    here = table(line)
    found = {
        "rename": here.name == "s.renamed",
        "properties": here.properties.get("owner") == "ada",
        "schema": here.schema.names == ("id", "added"),
        "spec": "bucket" in str(here.spec),
        "sort": "desc" in str(here.sort_order),
    }
    return {what for what, done in found.items() if done}


def merged_ids(done: dict[Catalog, str]) -> list[int]:
    """The rows that are there once both sides' changes took effect."""
    rows = {*FIRST, *SECOND}
    for line, what in done.items():
        if what == "overwrite":
            rows = set(replacement(line))
    for line, what in done.items():
        rows |= set(appended(line)) if what == "append" else set()
        rows -= {deleted(line)} if what == "rows changed" else set()
    return sorted(rows)


def merged_files(one: str, other: str) -> int:
    """A compaction makes one file of the two, and gives way if the other side changed rows in them."""
    kept = (
        1 if "overwrite" in (one, other) or ("compacted" in (one, other) and "rows changed" not in (one, other)) else 2
    )
    return kept + [one, other].count("append")


# What the cells of overwrites and changed rows depend on: conditions, files, and which rows. With the ids afterwards.
WHERE = {
    "an append outside what was overwritten": (
        lambda table: table.append(numbered(50)),
        lambda table: table.overwrite(numbered(101), "id >= 100"),
        [*FIRST, *SECOND, 50, 101],
    ),
    "an append into what was overwritten": (
        lambda table: table.append(numbered(150)),
        lambda table: table.overwrite(numbered(101), "id >= 100"),
        CONFLICT,
    ),
    "overwrites of two files": (
        lambda table: table.overwrite(numbered(1), "id <= 3"),
        lambda table: table.overwrite(numbered(6), "id >= 4"),
        [1, 6],
    ),
    "overwrites of one file": (
        lambda table: table.overwrite(numbered(1), "id = 1"),
        lambda table: table.overwrite(numbered(2), "id <= 2"),
        CONFLICT,
    ),
    "an overwrite of one file and changed rows of the other": (
        lambda table: table.overwrite(numbered(1), "id <= 3"),
        lambda table: table.delete("id = 4"),
        [1, 5, 6],
    ),
    "an overwrite of a file whose rows are changed": (
        lambda table: table.overwrite(numbered(1), "id <= 3"),
        lambda table: table.update({"id": "id + 60"}, "id = 3"),
        CONFLICT,
    ),
    "an overwrite of a file of which a row is deleted": (
        lambda table: table.overwrite(numbered(1), "id <= 3"),
        lambda table: table.delete("id = 3"),
        [1, *SECOND],
    ),
    "an overwrite of a row, and a change of another one of its file": (
        lambda table: table.overwrite(numbered(1), "id = 1"),
        lambda table: table.update({"id": "id + 60"}, "id = 3"),
        [1, 2, *SECOND, 63],
    ),
    "overwrites of two rows of one file": (
        lambda table: table.overwrite(numbered(1), "id = 1"),
        lambda table: table.overwrite(numbered(2), "id = 2"),
        [1, 2, 3, *SECOND],
    ),
    "a row that is changed so that it falls in what was overwritten": (
        lambda table: table.overwrite(numbered(101), "id >= 100"),
        lambda table: table.update({"id": "id + 100"}, "id = 3"),
        CONFLICT,
    ),
    "an overwrite that removed no input of a compaction": (
        lambda table: table.overwrite(numbered(101), "id >= 100"),
        lambda table: table.compact(),
        [*FIRST, *SECOND, 101],
    ),
    "updated rows of two files": (
        lambda table: table.update({"id": "id + 60"}, where="id = 1"),
        lambda table: table.update({"id": "id + 60"}, where="id = 4"),
        [2, 3, 5, 6, 61, 64],
    ),
    "rows that were changed before and after a compaction": (
        lambda table: (table.delete("id = 1"), table.compact(), table.delete("id = 2")),
        lambda table: table.append(numbered(50)),
        [3, *SECOND, 50],
    ),
    "other rows of one file": (
        lambda table: table.delete("id = 1"),
        lambda table: table.delete("id = 2"),
        [3, *SECOND],
    ),
    "the same rows of one file": (
        lambda table: table.delete("id in (1, 2)"),
        lambda table: table.delete("id in (2, 3)"),
        [*SECOND],
    ),
    "rows of one file, set alike": (
        lambda table: table.update({"id": "id + 60"}, where="id = 1"),
        lambda table: table.update({"id": "id + 60"}, where="id in (1, 2)"),
        [3, *SECOND, 61, 62],
    ),
    "a cell that is set in two ways": (
        lambda table: table.update({"id": "id + 60"}, where="id = 1"),
        lambda table: table.update({"id": "id + 70"}, where="id = 1"),
        CONFLICT,
    ),
    "rows of one file that one side deletes and both compact": (
        lambda table: (table.compact(), table.delete("id = 1")),
        lambda table: (table.delete("id = 2"), table.compact()),
        [3, *SECOND],
    ),
    "a row that is deleted here and set there": (
        lambda table: table.delete("id = 1"),
        lambda table: table.update({"id": "id + 60"}, where="id = 1"),
        CONFLICT,
    ),
}


@pytest.mark.parametrize("case", WHERE)
@pytest.mark.parametrize("direction", ["as it stands", "turned"])
def test_changed_rows_meet_row_by_row(lines, unchanged, case, direction):
    main, dev = lines
    one, other, expected = WHERE[case]
    for line, change in zip((main, dev), (one, other) if direction == "as it stands" else (other, one), strict=True):
        change(table(line))
    if expected is CONFLICT:
        with unchanged(), pytest.raises(Conflict, match=r"s\.t"):
            main.merge(dev)
        return
    main.merge(dev)
    assert ids(table(main)) == expected
    dev.merge(main)
    assert seen(dev) == seen(main)


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
@pytest.mark.parametrize(("one", "other"), [cell[:2] for cell in CELLS if cell[2] is CONFLICT])
@pytest.mark.parametrize("turned", ["as it stands", "turned"])
def test_a_strategy_settles_a_conflict_for_one_side(lines, one, other, strategy, turned):
    main, dev = lines
    done = {main: one, dev: other} if turned == "as it stands" else {main: other, dev: one}
    for line, what in done.items():
        ALL[what](line)
    ours, theirs = seen(main), seen(dev)
    result = main.merge(dev, strategy=strategy)
    assert result.conflicts
    if {one, other} == {"append", "overwrite"}:  # the appended file alone is disputed
        winner = main if strategy == "ours" else dev
        kept = appended(winner) if done[winner] == "append" else ()
        [over] = [replacement(line) for line, what in done.items() if what == "overwrite"]
        assert ids(table(main)) == sorted((*kept, *over))
    else:
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
        (
            lambda line: add_column(line, "x", "string"),
            lambda line: add_column(line, "x", "date"),
            "column x: name",
        ),
        (spec, lambda line: partition(line, "bucket(8, id)"), "spec"),
        (sort, lambda line: order(line, "id"), "sort order"),
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
        (lambda line: add_column(line, "x", "string"),) * 2,
        (rows, rows),
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

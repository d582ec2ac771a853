"""What would turn one state of a catalog into another."""

import pyarrow as pa
import pytest

from lakebed import Catalog, Invalid
from lakebed.metastore.records.reader import RecordsReader
from tests.support.changed_files import append_file, delete_rows


@pytest.fixture
def grown(main: Catalog) -> Catalog:
    main.create_namespace("s")
    main.create_table("s.a", {"id": "long"}).append(rows(1, 2))
    main.create_table("s.b", {"id": "long"})
    main.create_view("s.v", "select 1")
    return main


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def told(one: Catalog, other: Catalog) -> list[str]:
    return [str(row) for row in one.diff(other)]


def test_equal_states_have_no_difference(grown):
    dev = grown.create_branch("dev")
    assert grown.diff(grown) == grown.diff(dev) == dev.diff(grown.at(grown.version)) == []


def test_every_kind_of_change_is_told_in_both_directions(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(3, 4, 5))
    dev.table("s.a").set_properties({"owner": "ada"})
    dev.rename_table("s.b", "s.c")
    dev.create_table("s.new", {"x": "int"})
    dev.drop_view("s.v")
    dev.set_properties({"k": "v"})
    dev.namespace("s").set_properties({"n": "1"})
    assert told(grown, dev) == [
        "changed catalog (property k added: v)",
        "changed namespace s (property n added: 1)",
        "changed table s.a (property owner added: ada; files +1 -0 ~0, rows +3 -0)",
        "renamed table s.b to s.c",
        "created table s.new",
        "dropped view s.v",
    ]
    assert told(dev, grown) == [
        "changed catalog (property k removed: v)",
        "changed namespace s (property n removed: 1)",
        "changed table s.a (property owner removed: ada; files +0 -1 ~0, rows +0 -3)",
        "renamed table s.c to s.b",
        "dropped table s.new",
        "created view s.v",
    ]


def test_columns_specs_orders_and_keys_are_told(grown):
    dev = grown.create_branch("dev")
    with dev.table("s.a").evolve() as change:
        change.add_column("price", "int")
        change.rename_column("id", "order_id")
        change.partition_by(["bucket(4, order_id)"])
        change.sort_by(["order_id desc"])
    [row] = grown.diff(dev)
    assert [(one.what, one.before, one.after) for one in row.changes] == [
        ("column id", "id long", "order_id long"),
        ("column price", None, "price int"),
        ("spec", None, "bucket(4, order_id)"),
        ("sort order", None, "order_id desc nulls last"),
    ]


def test_a_view_that_says_something_else_is_told(grown):
    dev = grown.create_branch("dev")
    dev.view("s.v").set_sql("select 2")
    [row] = grown.diff(dev)
    assert ([one.what for one in row.changes], row.kind, row.type) == (["view"], "changed", "view")


def test_files_whose_rows_were_deleted_are_counted(main):
    table = main.create_table("t", {"id": "long"})
    path = append_file(table)
    dev = main.create_branch("dev")
    delete_rows(dev.table("t"), path)
    [row] = main.diff(dev)
    assert (row.files_added, row.files_removed, row.files_changed) == (0, 0, 1)


def test_a_dropped_namespace_is_told_with_all_that_it_held(grown):
    dev = grown.create_branch("dev")
    dev.drop_namespace("s", cascade=True)
    assert told(grown, dev) == [
        "dropped namespace s",
        "dropped table s.a (files +0 -1 ~0, rows +0 -2)",
        "dropped table s.b",
        "dropped view s.v",
    ]
    assert told(dev, grown)[0] == "created namespace s"


def test_what_was_moved_out_of_a_dropped_namespace_was_renamed(grown):
    dev = grown.create_branch("dev")
    dev.rename_table("s.a", "kept")
    dev.drop_namespace("s", cascade=True)
    assert "renamed table s.a to kept" in told(grown, dev)
    assert len(told(grown, dev)) == 4


def test_a_renamed_namespace_is_one_difference(grown):
    dev = grown.create_branch("dev")
    dev.rename_namespace("s", "r")
    assert told(grown, dev) == ["renamed namespace s to r"]


def test_two_versions_of_one_line_are_compared(grown):
    first = grown.version
    grown.table("s.a").append(rows(9))
    grown.drop_table("s.b")
    assert told(grown.at(first), grown) == [
        "changed table s.a (files +1 -0 ~0, rows +1 -0)",
        "dropped table s.b",
    ]


def test_sides_that_did_the_same_do_not_differ(grown):
    dev = grown.create_branch("dev")
    for line in (grown, dev):
        line.table("s.a").set_properties({"k": "v"})
        line.rename_table("s.b", "s.c")
    assert grown.diff(dev) == []


def test_the_cost_of_a_diff_follows_the_changes(grown, store):
    """It reads the commits since the fork and the objects that they touched, and lists nothing."""
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(3))
    counts = []
    for number in range(2):
        with grown.transaction("more") as tx:
            for place in range(100):
                tx.create_table(f"s.t{number}_{place}", {"id": "long"})
        branch = grown.create_branch(f"dev{number}")
        branch.table("s.a").append(rows(3))
        counts.append(_reads(grown, branch))
    assert counts[1] <= counts[0]  # the second knows commits that the first has read


def _reads(one: Catalog, other: Catalog) -> int:
    asked: list[int] = []
    real = RecordsReader.attributes

    def attributes(self, wanted):
        asked.append(len(wanted))
        return real(self, wanted)

    RecordsReader.attributes = attributes
    try:
        assert len(one.diff(other)) == 1
    finally:
        RecordsReader.attributes = real
    return sum(asked)


def test_only_lines_of_one_catalog_are_compared(grown, lake):
    with pytest.raises(Invalid):
        grown.diff(lake.create_catalog("other"))
    with pytest.raises(Invalid):
        grown.diff("dev")

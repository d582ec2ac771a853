"""`lake.usage()`: what the files of a lake take, by table, by version and by what holds them."""

import pyarrow
import pyarrow.parquet
import pytest

import lakebed


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


@pytest.fixture
def lake(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake


def filled(main, name):
    table = main.create_table(name, {"id": "long"}, properties={"write.inline-bytes": "0"})
    return table, table.append(numbers(1, 2, 3))


def held(usage, name):
    """By hold and refs, how many files of a table."""
    found = {}
    for row in usage:
        if row.table == name:
            found[row.hold.value, row.refs] = found.get((row.hold.value, row.refs), 0) + row.files
    return found


def test_every_file_counts_once_under_what_holds_it(lake, tmp_path):
    main = lake.catalog()
    table, first = filled(main, "t")
    dev = main.create_branch("dev")
    dev.table("t").append(numbers(4))
    main.create_tag("v1")
    table.overwrite(numbers(5))
    usage = lake.usage()
    assert held(usage, "t") == {("live", ("dev", "v1")): 1, ("live", ("dev",)): 1, ("live", ("main",)): 1}
    assert [row.version for row in usage if row.refs == ("dev", "v1")] == [first.version]
    main.drop_tag("v1")
    main.drop_branch("dev")
    assert held(lake.usage(), "t") == {("history", ()): 2, ("live", ("main",)): 1}
    main.drop_table("t")
    assert held(lake.usage(), "t") == {("dropped", ()): 3}
    in_folder = sum(path.stat().st_size for path in (tmp_path / "lake/tables").rglob("*") if path.is_file())
    usage = lake.usage()
    assert usage.bytes - usage.by_hold()["catalog"] == in_folder


def test_sums_add_up(lake, tmp_path):
    main = lake.catalog()
    filled(main, "t")
    filled(main, "u")[0].delete("id = 1")
    (tmp_path / "lake/tables/left").write_bytes(b"12345")
    outside = tmp_path / "outside.parquet"
    pyarrow.parquet.write_table(numbers(7), outside)
    main.table("t").add_files([str(outside)])
    usage = lake.usage()
    assert usage.by_hold()["orphaned"] == 5
    assert usage.by_hold()["outside"] == outside.stat().st_size
    for sums in (usage.by_table(), usage.by_hold(), usage.by_ref()):
        assert sum(sums.values()) == usage.bytes + outside.stat().st_size
    assert set(usage.by_table()) == {"t", "u", ""}
    assert list(usage.by_version()) == sorted(usage.by_version())
    found = usage.to_arrow()
    assert (found.num_rows, sum(found["bytes"].to_pylist())) == (len(usage), sum(usage.by_table().values()))
    assert set(found["held_by"].to_pylist()) == {"live", "outside", "orphaned", "catalog"}


def test_it_prints_a_line_for_each_table_and_hold(lake):
    main = lake.catalog()
    main.create_namespace("sales")
    filled(main, "sales.orders")
    lines = str(lake.usage()).splitlines()
    assert [line.split()[:2] for line in lines] == [["sales.orders", "live"], ["(no", "table)"], ["in", "all"]]
    assert lines[-1].endswith(" bytes")


def test_another_catalog_s_refs_are_named_with_it(lake):
    filled(lake.create_catalog("other"), "t")
    assert held(lake.usage(), "t") == {("live", ("other@main",)): 1}


def test_an_empty_lake_has_its_catalog_only(lake):
    assert set(lake.usage().by_hold()) == {"catalog"}


def test_the_files_of_a_staged_partition_are_not_history(lake):
    """They were said to be in earlier versions alone, as if the newest one did not have them."""
    main = lake.catalog()
    table = main.create_table(
        "t", {"id": "long", "day": "string"}, partition_by=["day"], properties={"write.inline-bytes": "0"}
    )
    staged = table.stage_partition({"day": "mon"})
    staged.append([{"id": 1}])
    table.create_edition("2").stage_partition({"day": "tue"}).append([{"id": 2}])
    table.stage_stream().append([{"id": 3, "day": "wed"}])
    usage = lake.usage()
    assert held(usage, "t") == {("live", ("main",)): 2}
    assert held(usage, "t.edition_2") == {("live", ("main",)): 1}
    staged.discard()
    assert held(lake.usage(), "t") == {("live", ("main",)): 1, ("history", ()): 1}

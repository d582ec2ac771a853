"""What a table's Iceberg export says, and that PyIceberg reads the rows from it which Lakebed reads."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import duckdb
import fastavro
import pyarrow
import pyarrow.parquet
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.table import StaticTable

import lakebed
from lakebed import Corrupt, Field, Forbidden, Invalid, Lake, NotFound, Schema, Table, Unavailable
from lakebed.catalog.tables.tables import table_state
from lakebed.files import LocalFiles
from lakebed.files.files import Data
from lakebed.iceberg import export_table

IN_FILES = {"write.inline-bytes": "0"}

Export = Callable[[Table], str]


def counted(rows: pyarrow.Table) -> Counter[str]:
    """Rows as a multiset, by names of columns."""
    return Counter(repr(sorted(row.items())) for row in rows.to_pylist())


def opened(path: str) -> StaticTable:
    return StaticTable.from_metadata(path)


def document(path: str) -> dict:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def avro(path: str) -> list[dict]:
    with open(path, "rb") as file:
        return list(fastavro.reader(file))


def manifest_list(path: str) -> list[dict]:
    return avro(document(path)["snapshots"][-1]["manifest-list"])


def entries(path: str, content: int = 0) -> list[dict]:
    return [one for row in manifest_list(path) if row["content"] == content for one in avro(row["manifest_path"])]


def partitions(path: str) -> list[tuple]:
    """The partition values of the files, as PyIceberg reads them."""
    files = [one.file for one in opened(path).scan().plan_files()]
    return sorted(tuple(one.partition[place] for place in range(len(one.partition))) for one in files)


def is_same(table: Table, path: str) -> bool:
    found, expected = opened(path).scan().to_arrow(), table.scan().to_arrow()
    assert found.num_rows == expected.num_rows
    return found.column_names == expected.column_names and counted(found) == counted(expected)


def test_pyiceberg_reads_the_rows_of_a_partitioned_table(orders: Table, export: Export) -> None:
    path = export(orders)
    assert document(path)["format-version"] == 2
    assert opened(path).scan().to_arrow().num_rows == 60
    assert is_same(orders, path)


def test_pyiceberg_reads_deletes_evolved_columns_and_two_specs(evolved: Table, export: Export) -> None:
    path = export(evolved)
    assert document(path)["format-version"] == 3
    assert opened(path).scan().to_arrow().num_rows == 60 - 8 + 4
    assert is_same(evolved, path)


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("region = 'eu'", 18),
        ("region IS NULL", 18),
        ("id >= 100", 4),
        ("id < 12", 8),
        ("date = '2024-01-02' and region = 'us'", 9),
        ("label = 'changed'", 1),
        ("name IS NOT NULL", 2),
        ("score = 7", 52),
        ("label = 'name 41' or score IS NULL", 3),
    ],
)
def test_pyiceberg_reads_the_same_rows_by_a_filter(evolved: Table, export: Export, where: str, rows: int) -> None:
    found = opened(export(evolved)).scan(row_filter=where).to_arrow()
    assert found.num_rows == rows
    assert counted(found) == counted(evolved.scan(where).to_arrow())


def test_a_filter_by_partition_plans_only_the_files_of_the_partition(orders: Table, export: Export) -> None:
    static = opened(export(orders))
    where = "region = 'eu' and date = '2024-01-01'"
    tasks = [one.file.file_path for one in static.scan(row_filter=where).plan_files()]
    assert sorted(tasks) == sorted(orders.scan("region = 'eu' and date = date '2024-01-01'").files())
    assert len(tasks) == 3
    assert len(list(static.scan().plan_files())) == 18


def test_bounds_of_columns_cut_files(orders: Table, export: Export) -> None:
    tasks = list(opened(export(orders)).scan(row_filter="id >= 58").plan_files())
    assert len(tasks) == 2


def test_a_version_that_is_past_is_exported_as_it_was(orders: Table, export: Export) -> None:
    before = orders.version
    orders.delete("id < 30")
    assert is_same(orders.at(before), export(orders.at(before)))
    assert is_same(orders, export(orders))


def test_a_branch_is_exported_with_its_own_rows(lake: Lake, orders: Table, export: Export) -> None:
    branched = lake.catalog().create_branch("dev").table("orders")
    branched.delete("region = 'eu'")
    orders.delete("region = 'us'")
    assert is_same(branched, export(branched))
    assert is_same(orders, export(orders))


def test_a_merged_table_keeps_the_ids_of_its_rows_below_the_next_one(lake: Lake, orders: Table, export: Export) -> None:
    branched = lake.catalog().create_branch("dev").table("orders")
    branched.append(pyarrow.table({"id": pyarrow.array([70], pyarrow.int32())}))
    orders.delete("id = 1")
    lake.catalog().merge(lake.catalog().branch("dev"))
    path = export(orders)
    highest = max(one["data_file"]["first_row_id"] + one["data_file"]["record_count"] for one in entries(path))
    assert highest == document(path)["next-row-id"] == 62
    assert is_same(orders, path)


def test_vectors_that_a_merge_united_hide_the_rows_of_both_sides(lake: Lake, orders: Table, export: Export) -> None:
    branch = lake.catalog().create_branch("dev")
    branch.table("orders").delete("id IN (1, 2)")  # both vectors are in one Puffin file
    orders.delete("id = 7")  # of the file that 1 is in
    lake.catalog().merge(branch)
    path = export(orders)
    assert not {1, 2, 7} & set(orders.scan().to_arrow()["id"].to_pylist())
    assert is_same(orders, path)
    assert len(list(entries(path, content=1))) == 2  # one vector for each file


def test_a_lake_that_was_moved_keeps_its_deletes(tmp_path: Path, export: Export) -> None:
    with lakebed.connect(tmp_path / "before") as lake:
        table = lake.catalog().create_table("t", Schema({"id": "long"}), properties=IN_FILES)
        table.append(pyarrow.table({"id": [1, 2, 3]}))
        table.delete("id = 2")
    (tmp_path / "before").rename(tmp_path / "after")
    with lakebed.connect(tmp_path / "after") as lake:
        table = lake.catalog().table("t")
        path = export(table)
        assert opened(path).scan().to_arrow()["id"].to_pylist() == [1, 3]
        assert is_same(table, path)


def test_a_vector_that_only_grew_stays_where_it_is(orders: Table, export: Export) -> None:
    orders.delete("id IN (1, 2)")
    orders.delete("id = 7")
    path = export(orders)
    assert {Path(one["data_file"]["file_path"]).parent.name for one in entries(path, content=1)} == {"data"}
    assert is_same(orders, path)


def test_the_metadata_document_has_the_whole_past_of_schemas_specs_and_orders(evolved: Table, export: Export) -> None:
    found = document(export(evolved))
    assert found["table-uuid"] == evolved.id
    assert [len(one["fields"]) for one in found["schemas"]] == [4, 6]
    assert found["current-schema-id"] == evolved.schema.id == found["schemas"][-1]["schema-id"]
    assert found["schemas"][-1]["identifier-field-ids"] == [1]
    assert found["last-column-id"] == 6
    assert [[field["transform"] for field in one["fields"]] for one in found["partition-specs"]] == [
        ["identity", "day"],
        ["bucket[4]", "month"],
    ]
    assert found["last-partition-id"] == 1003
    assert [one["order-id"] for one in found["sort-orders"]] == [0, 1]
    assert found["default-sort-order-id"] == 1
    assert found["properties"]["owner"] == "ada"
    assert "physical-name" not in json.dumps(found)
    mapped = {one["field-id"]: one["names"] for one in json.loads(found["properties"]["schema.name-mapping.default"])}
    assert mapped[2] == ["name"]
    assert mapped[5] != ["name"]


def test_the_last_column_id_is_above_those_of_columns_that_are_gone(orders: Table, export: Export) -> None:
    with orders.evolve() as change:
        change.add_column("extra", "long")
    orders.append(pyarrow.table({"id": pyarrow.array([80], pyarrow.int32()), "extra": [1]}))
    with orders.evolve() as change:
        change.drop_column("extra")
    path = export(orders)
    assert document(path)["last-column-id"] == 5
    assert is_same(orders, path)


def test_counts_of_files_and_rows_are_exact(evolved: Table, export: Export) -> None:
    path = export(evolved)
    data, deletes = entries(path), entries(path, content=1)
    paths = [one["data_file"]["file_path"] for one in data]
    assert sorted(paths) == sorted(one["file_path"] for one in evolved.describe().data_files())
    for one in data:
        file = one["data_file"]
        assert file["record_count"] == pyarrow.parquet.read_metadata(file["file_path"]).num_rows
        assert file["file_size_in_bytes"] == Path(file["file_path"]).stat().st_size
    listed = manifest_list(path)
    for content, held in ((0, data), (1, deletes)):
        counts = [one for one in listed if one["content"] == content]
        assert sum(one["added_files_count"] + one["existing_files_count"] for one in counts) == len(held)
        total = sum(one["added_rows_count"] + one["existing_rows_count"] for one in counts)
        assert total == sum(one["data_file"]["record_count"] for one in held)
    summary = document(path)["snapshots"][-1]["summary"]
    assert int(summary["total-data-files"]) == len(data)
    assert int(summary["total-position-deletes"]) == sum(one["data_file"]["record_count"] for one in deletes) > 0
    assert int(summary["total-records"]) - int(summary["total-position-deletes"]) == evolved.scan().count()


def test_entries_say_which_snapshot_and_sequence_their_files_came_with(orders: Table, export: Export) -> None:
    orders.delete("id = 1")
    orders.append(pyarrow.table({"id": pyarrow.array([90], pyarrow.int32())}))
    newest, *_, first = orders.snapshots()
    path = export(orders)
    by_sequence = Counter(one["sequence_number"] for one in entries(path))
    assert by_sequence == {2: 6, 3: 6, 4: 6, newest.sequence_number: 1}
    [added] = [one for one in entries(path) if one["status"] == 1]
    assert added["snapshot_id"] == newest.id
    assert first.id not in {one["snapshot_id"] for one in entries(path)}
    assert document(path)["last-sequence-number"] == newest.sequence_number


def test_a_vector_is_referred_to_where_its_puffin_file_has_it(orders: Table, export: Export) -> None:
    orders.delete("id IN (1, 2, 7)")
    vectors = [one["data_file"] for one in entries(export(orders), content=1)]
    paths = [one["file_path"] for one in orders.describe().data_files()]
    assert Counter(one["record_count"] for one in vectors) == {2: 1, 1: 1}
    for one in vectors:
        puffin = Path(one["file_path"]).read_bytes()
        assert len(puffin) == one["file_size_in_bytes"]
        blob = puffin[one["content_offset"] : one["content_offset"] + one["content_size_in_bytes"]]
        assert blob[4:8].hex() == "d1d33964"
        assert int.from_bytes(blob[:4], "big") + 8 == len(blob)
        assert one["referenced_data_file"] in paths


def test_partition_values_of_every_type(lake: Lake, export: Export) -> None:
    values = {
        "boolean": (pyarrow.bool_(), True),
        "int": (pyarrow.int32(), -1),
        "long": (pyarrow.int64(), 2**40),
        "double": (pyarrow.float64(), 1.5),
        "decimal(20, 2)": (pyarrow.decimal128(20, 2), Decimal("-123456789012345678.90")),
        "date": (pyarrow.date32(), date(1969, 12, 31)),
        "timestamp": (pyarrow.timestamp("us"), datetime(2024, 1, 2, 3, 4, 5, 678901)),
        "timestamptz": (pyarrow.timestamp("us", "UTC"), datetime(2024, 1, 2, 3, 4, 5, 678901, UTC)),
        "string": (pyarrow.string(), "a/b=ü\n"),
        "uuid": (pyarrow.uuid(), UUID(int=2**127 + 5)),
        "fixed(3)": (pyarrow.binary(3), b"\x00\xff\x01"),
        "binary": (pyarrow.binary(), b"\xff"),
    }
    names = [f"c {place}" for place in range(len(values))]
    schema = Schema([Field("id", "long"), *(Field(n, t) for n, t in zip(names, values, strict=True))])
    table = lake.catalog().create_table(
        "every", schema, partition_by=[f"`{one}`" for one in names], properties=IN_FILES
    )
    columns = {
        n: pyarrow.array([v.bytes if isinstance(v, UUID) else v, None], t.storage_type if t == pyarrow.uuid() else t)
        for n, (t, v) in zip(names, values.values(), strict=True)
    }
    table.append(pyarrow.table({"id": [1, 2], **columns}))
    path = export(table)
    assert is_same(table, path)
    assert opened(path).scan(row_filter=EqualTo("c 8", "a/b=ü\n")).to_arrow()["id"].to_pylist() == [1]
    assert [len(row["partitions"]) for row in manifest_list(path)] == [len(values)]
    assert all(one["contains_null"] for row in manifest_list(path) for one in row["partitions"])


def test_partitions_whose_names_avro_can_not_tell_apart(lake: Lake, export: Export) -> None:
    schema = Schema({"a b": "long", "a_x20b": "long"})
    table = lake.catalog().create_table("t", schema, partition_by=["`a b`", "a_x20b"], properties=IN_FILES)
    table.append(pyarrow.table({"a b": [1, 2], "a_x20b": [3, 4]}))
    path = export(table)
    assert partitions(path) == [(1, 3), (2, 4)]
    assert is_same(table, path)


def test_a_spec_whose_column_was_dropped(orders: Table, export: Export) -> None:
    with orders.evolve() as change:
        change.partition_by(["day(date)"])
    with orders.evolve() as change:
        change.drop_column("region")
    orders.append(pyarrow.table({"id": pyarrow.array([80], pyarrow.int32()), "date": [date(2024, 3, 1)]}))
    path = export(orders)
    assert is_same(orders, path)
    assert opened(path).scan(row_filter="date = '2024-03-01'").to_arrow().num_rows == 1


def test_a_nested_table(lake: Lake, export: Export) -> None:
    schema = Schema({"id": "long", "tags": "list<string>", "at": "struct<x: int, y: double>", "m": "map<string, long>"})
    table = lake.catalog().create_table("nested", schema, properties=IN_FILES)
    rows = [{"id": 1, "tags": ["a", None], "at": {"x": 1, "y": 2.0}, "m": [("k", 5)]}, {"id": 2, "tags": [], "m": None}]
    form = pyarrow.schema(
        {
            "id": pyarrow.int64(),
            "tags": pyarrow.list_(pyarrow.string()),
            "at": pyarrow.struct({"x": pyarrow.int32(), "y": pyarrow.float64()}),
            "m": pyarrow.map_(pyarrow.string(), pyarrow.int64()),
        }
    )
    table.append(pyarrow.Table.from_pylist(rows, form))
    with table.evolve() as change:
        change.rename_column("at.x", "z")
    assert is_same(table, export(table))


def test_files_without_field_ids_are_read_by_their_names(orders: Table, export: Export, tmp_path: Path) -> None:
    with orders.evolve() as change:
        change.rename_column("name", "label")
        change.partition_by([])
    foreign = tmp_path / "foreign.parquet"
    pyarrow.parquet.write_table(
        pyarrow.table({"id": pyarrow.array([500], pyarrow.int32()), "name": ["theirs"], "region": ["eu"]}), foreign
    )
    orders.add_files([foreign])
    path = export(orders)
    assert "theirs" in opened(path).scan(row_filter="id = 500").to_arrow()["label"].to_pylist()
    assert is_same(orders, path)


def test_a_file_with_other_columns_is_refused_since_readers_could_take_one_for_a_later_column(
    orders: Table, export: Export, tmp_path: Path
) -> None:
    with orders.evolve() as change:
        change.partition_by([])
    foreign = tmp_path / "foreign.parquet"
    pyarrow.parquet.write_table(
        pyarrow.table({"id": pyarrow.array([500], pyarrow.int32()), "score": ["not the table's"]}), foreign
    )
    orders.add_files([foreign])
    with orders.evolve() as change:
        change.add_column("score", "string")
    with pytest.raises(Invalid, match="compact"):
        export(orders)


def test_values_of_hive_folders_are_those_of_the_partition_for_other_readers(
    lake: Lake, export: Export, tmp_path: Path
):
    table = lake.catalog().create_table("t", {"id": "long", "month": "string"}, partition_by=["month"])
    for month, id in (("2026-01", 1), ("2026-02", 2), ("__HIVE_DEFAULT_PARTITION__", 3)):
        folder = tmp_path / "data" / f"month={month}"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": [id]}), folder / "a.parquet")
    table.add_files(tmp_path / "data")
    read = opened(export(table)).scan()
    assert counted(read.to_arrow()) == counted(table.scan().to_arrow())
    assert read.filter(EqualTo("month", "2026-02")).to_arrow()["id"].to_pylist() == [2]


def test_a_table_without_rows(lake: Lake, export: Export) -> None:
    path = export(lake.catalog().create_table("empty", Schema({"id": "long"})))
    assert opened(path).scan().to_arrow().num_rows == 0
    assert manifest_list(path) == []


def test_a_compacted_table(evolved: Table, export: Export) -> None:
    evolved.compact()
    path = export(evolved)
    assert entries(path, content=1) == []
    assert is_same(evolved, path)


def test_inline_rows_are_refused_until_they_are_compacted(lake: Lake, export: Export) -> None:
    table = lake.catalog().create_table("inline", Schema({"id": "long"}))
    table.append(pyarrow.table({"id": [1]}))
    with pytest.raises(Invalid, match="inline rows") as caught:
        export(table)
    assert "compact()" in caught.value.advice
    table.compact()
    assert is_same(table, export(table))


def test_changes_that_are_not_committed_are_refused(lake: Lake, orders: Table, export: Export) -> None:
    with lake.catalog().transaction() as transaction:
        table = transaction.table("orders")
        table.append(pyarrow.table({"id": pyarrow.array([90], pyarrow.int32())}))
        with pytest.raises(Invalid, match="uncommitted changes"):
            export(table)


def test_an_export_goes_where_it_is_told_to(lake: Lake, orders: Table, tmp_path: Path) -> None:
    work = orders._scope.read()
    path = export_table(work, table_state(work, orders.id), "published/orders")
    assert Path(path).parent == tmp_path / "a lake, 100% [ünïcode]" / "published" / "orders"
    assert is_same(orders, path)


def test_two_exports_of_one_version_are_apart(orders: Table, export: Export) -> None:
    first, second = export(orders), export(orders)
    assert first != second
    assert is_same(orders, first)
    assert is_same(orders, second)


class NoDocument(LocalFiles):
    """A place where the last file of an export can't be written."""

    def put_if_absent(self, path: str, data: Data) -> None:
        if path.endswith(".metadata.json"):
            raise Unavailable("the disk is gone")
        super().put_if_absent(path, data)


def test_of_an_export_that_fails_nothing_is_left(orders: Table, tmp_path: Path) -> None:
    root = tmp_path / "a lake, 100% [ünïcode]"
    before = {one for one in root.rglob("*") if one.is_file()}
    work = orders._scope.read()
    work.context = replace(work.context, files=NoDocument(root))
    with pytest.raises(Unavailable, match="the disk is gone"):
        export_table(work, table_state(work, orders.id))
    assert {one for one in root.rglob("*") if one.is_file()} == before


def test_a_puffin_file_that_vanished_is_named(orders: Table, export: Export) -> None:
    orders.delete("id = 1")
    [vector] = [one["data_file"]["file_path"] for one in entries(export(orders), content=1)]
    Path(vector).unlink()
    with pytest.raises(Corrupt, match=Path(vector).name):
        export(orders)


def test_a_table_that_is_not_there_is_not_found(lake: Lake, orders: Table, export: Export) -> None:
    lake.catalog().drop_table("orders")
    with pytest.raises(NotFound):
        export(orders)


def test_duckdb_reads_the_same_rows(evolved: Table, export: Export) -> None:
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    try:
        connection.execute("LOAD iceberg")
    except duckdb.Error:
        pytest.skip("DuckDB's iceberg extension is not installed: run `INSTALL iceberg` in DuckDB once, online")
    with connection:
        found = connection.execute("SELECT * FROM iceberg_scan(?)", [export(evolved)]).to_arrow_table()
    assert counted(found) == counted(evolved.scan().to_arrow())


def test_a_handle_exports_its_table_at_its_version(orders: Table) -> None:
    before = orders.at(version=int(orders.version))
    orders.delete("id >= 0")
    assert opened(orders.export_iceberg("exported/newest")).scan().to_arrow().num_rows == 0
    assert is_same(before, before.export_iceberg())


def test_who_exports_without_fastavro_is_asked_to_install_it(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.lake.engines.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"fastavro is not installed\. Run `pip install"):
        orders.export_iceberg()


def test_a_share_could_write_an_export_into_the_lake(lake: Lake, orders: Table) -> None:
    main = lake.catalog()
    share = main.create_share("readers", [orders])
    with pytest.raises(Forbidden, match="export"):
        share.table(orders.name).export_iceberg("exported")


@pytest.mark.parametrize("path", [3, "", "/tmp/x", b"x"])
def test_a_folder_outside_the_lake_is_refused_by_its_own_name(orders: Table, path: object) -> None:
    with pytest.raises(Invalid, match="this is not a folder of the lake"):
        orders.export_iceberg(path)  # type: ignore[arg-type]

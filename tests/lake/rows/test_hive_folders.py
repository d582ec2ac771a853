"""Files in Hive's folders (`month=2026-01/x.parquet`) are added with the values that the folders say."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from lakebed import Catalog
from lakebed.errors import AlreadyExists, Invalid, NotFound

SCHEMA = {"id": "long", "month": "string", "region": "string"}


@pytest.fixture
def put(tmp_path: Path):
    """Write a file with these ids, and answer the folder of all files."""

    def write(path, *ids, **columns):
        file = tmp_path / "data" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": list(ids), **columns}), file)
        return tmp_path / "data"

    return write


@pytest.fixture
def hive(put):
    put("month=2026-01/a.parquet", 1, 2, region=["eu", None])
    put("month=2026-02/b.parquet", 3, region=["us"])
    return put("month=__HIVE_DEFAULT_PARTITION__/c.parquet", 4, region=["us"])


@pytest.fixture
def table(main: Catalog):
    return main.create_table("t", SCHEMA, partition_by=["month"])


def months(table, where=None):
    found = table.scan(where, columns=["id", "month"]).to_arrow().to_pylist()
    return {row["id"]: row["month"] for row in found}


ALL = {1: "2026-01", 2: "2026-01", 3: "2026-02", 4: None}


def test_the_value_that_a_folder_says_is_not_null(table, hive):
    table.add_files(hive)
    assert months(table) == ALL
    assert table.scan(columns=["month"]).to_arrow()["month"].to_pylist() == list(ALL.values())
    assert table.scan("month = '2026-02'", columns=["month"]).to_arrow().num_rows == 1


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("month = '2026-01'", {1, 2}),
        ("month <> '2026-01'", {3}),
        ("month is null", {4}),
        ("month is not null and id > 1", {2, 3}),
        ("month like '2026%' and region = 'us'", {3}),
        ("month in ('2026-02', 'x') or id = 1", {1, 3}),
        ("month = 'none'", set()),
    ],
)
def test_filters_see_the_values_of_folders(table, hive, where, found):
    table.add_files(hive)
    assert months(table, where).keys() == found
    assert table.scan(where).count() == len(found)


def test_files_of_other_folders_are_not_opened(table, hive):
    table.add_files(hive)
    assert "partitions: cut 2 files" in table.scan("month = '2026-02'").explain()


def test_values_of_folders_survive_everything_that_writes_rows_again(main, put):
    table = main.create_table("t", SCHEMA, partition_by=["month"], primary_key=["id"])
    table.add_files(put("month=2026-01/a.parquet", 1, 2, 3, 4, 5))
    assert table.get(2) == {"id": 2, "month": "2026-01", "region": None}
    table.update({"region": "'de'"}, "id = 1")
    table.upsert(pyarrow.table({"id": [2], "month": ["2026-02"], "region": ["fr"]}))
    table.delete("id = 3")
    table.checkpoint()
    expected = {1: "2026-01", 2: "2026-02", 4: "2026-01", 5: "2026-01"}
    assert months(table) == expected
    with table.evolve() as change:
        change.rename_column("month", "period")
        change.partition_by(["region"])
    assert {row["id"]: row["period"] for row in table.scan().to_arrow().to_pylist()} == expected
    assert table.scan("period = '2026-01'").count() == 3
    table.compact()
    assert {row["id"]: row["period"] for row in table.scan().to_arrow().to_pylist()} == expected
    physical = pyarrow.concat_tables(
        [pyarrow.parquet.read_table(path, partitioning=None) for path in Path(table.location).rglob("*.parquet")],
        promote_options="default",
    )
    assert None not in physical["month"].to_pylist()  # it is written now


def test_every_type_comes_from_a_folder_as_it_was_written(main, put):
    types = {
        "b": ("boolean", "true", True),
        "i": ("int", "-7", -7),
        "l": ("long", "9000000000", 9000000000),
        "f": ("float", "0.5", 0.5),
        "d": ("double", "1e3", 1000.0),
        "n": ("decimal(6, 2)", "12.5", "12.50"),
        "t": ("date", "2026-01-31", "2026-01-31"),
        "m": ("timestamp", "2026-01-31 10%3A20%3A30", "2026-01-31 10:20:30"),
        "z": ("timestamptz", "2026-01-31T10%3A20%3A30Z", "2026-01-31 10:20:30+00:00"),
        "s": ("string", "a%2Fb%3D c ü", "a/b= c ü"),
        "x": ("binary", "raw", b"raw"),
        "u": ("uuid", "00000000-0000-0000-0000-0000000000ff", "00000000-0000-0000-0000-0000000000ff"),
    }
    schema = {"id": "long"} | {name: type for name, (type, _, _) in types.items()}
    table = main.create_table("t", schema, partition_by=list(types))
    folders = "/".join(f"{name}={text}" for name, (_, text, _) in types.items())
    table.add_files(put(f"{folders}/a.parquet", 1))
    [row] = table.scan().to_arrow().to_pylist()
    for name, (type, _, expected) in types.items():
        found = row[name]
        assert (found if type in ("boolean", "int", "long", "float", "double", "binary") else str(found)) == expected
    # `text = folder's value` finds the row, whatever reads it
    assert table.scan("i = -7 and n = 12.5 and t = date '2026-01-31' and s = 'a/b= c ü' and d > 999").count() == 1


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("int", "x"),
        ("int", "3000000000"),
        ("date", "2026-1"),
        ("decimal(4, 1)", "1.25"),
        ("boolean", "maybe"),
        ("timestamp", "noon"),
        ("time", "10:00"),
    ],
)
def test_a_folder_that_says_no_value_of_the_column_is_refused(main, put, unchanged, type, text):
    table = main.create_table("t", {"id": "long", "p": type}, partition_by=["p"])
    folder = put(f"p={text}/a.parquet", 1)
    with unchanged(), pytest.raises(Invalid, match=r"the path says"):
        table.add_files(folder)


def test_a_file_that_contradicts_its_folder_is_refused(table, put, unchanged):
    put("month=2026-01/good.parquet", 1, month=["2026-01"])
    folder = put("month=2026-01/bad.parquet", 2, month=["2026-02"])
    with unchanged(), pytest.raises(Invalid, match=r"bad.parquet: month: the folder says 2026-01, the file 2026-02"):
        table.add_files(folder)
    table.add_files(f"{folder}/month=2026-01/good.parquet")
    assert months(table) == {1: "2026-01"}


def test_a_column_that_only_a_folder_says_needs_a_partition_field(main, put):
    table = main.create_table("t", SCHEMA)
    folder = put("month=2026-01/a.parquet", 1)
    with pytest.raises(Invalid, match=r"not partitioned by it: run evolve\(\) with change.partition_by"):
        table.add_files(folder)
    with table.evolve() as change:
        change.partition_by(["month"])
    table.add_files(folder)
    assert months(table) == {1: "2026-01"}


def test_a_column_of_the_file_is_checked_against_its_folder_without_a_partition_field(main, put):
    table = main.create_table("t", SCHEMA)
    table.add_files(put("month=2026-01/a.parquet", 1, 2, month=["2026-01"] * 2))
    with pytest.raises(Invalid, match="region: rows of several folders"):
        table.add_files(put("region=eu/b.parquet", 3, 4, region=["eu", "us"]) / "region=eu")
    assert months(table) == {1: "2026-01", 2: "2026-01"}


def test_folders_that_are_not_columns_are_only_folders(main, put):
    table = main.create_table("t", {"id": "long"})
    table.add_files(put("run=17/a=b=c/=x/a.parquet", 1))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1}]


def test_two_folders_that_disagree_are_refused(table, put):
    with pytest.raises(Invalid, match="two folders of the path say month"):
        table.add_files(put("month=1/month=2/a.parquet", 1))


def test_a_required_column_may_come_from_a_folder_but_not_as_null(main, put):
    schema = pyarrow.schema([pyarrow.field("id", "int64"), pyarrow.field("month", "string", nullable=False)])
    table = main.create_table("t", schema, partition_by=["month", "bucket(4, month)"])
    put("month=__HIVE_DEFAULT_PARTITION__/b.parquet", 2)
    folder = put("month=2026-01/a.parquet", 1)
    table.add_files(folder / "month=2026-01")
    assert months(table, "month = '2026-01'") == {1: "2026-01"}
    with pytest.raises(Invalid, match="the folder says null"):
        table.add_files(folder / "month=__HIVE_DEFAULT_PARTITION__")


# Folders and patterns


def test_a_folder_or_a_pattern_stands_for_its_files(table, hive, put, monkeypatch):
    put("_temporary/x.parquet", 9), put(".hidden/x.parquet", 9), put("month=2026-01/_SUCCESS", 9)
    (hive / "month=2026-01" / ".a.parquet.crc").write_bytes(b"crc")
    (hive / "month=2026-01" / "_metadata").write_bytes(b"x")
    table.add_files([str(hive) + "/"])
    assert months(table) == ALL
    assert list(months(table)) == [1, 2, 3, 4]
    for pattern in ("**/*.parquet", "month=*", "month=*/*", "**"):
        table.truncate()
        monkeypatch.chdir(hive)
        table.add_files(pattern)
        assert months(table) == ALL
    table.truncate()
    table.add_files(f"file://{hive}")
    assert months(table) == ALL
    with pytest.raises(AlreadyExists):
        table.add_files(hive / "month=2026-02")


def test_folders_behind_links_say_their_values(table, put, tmp_path):
    folder = put("plain/a.parquet", 1)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "month=2026-03").symlink_to(folder / "plain")
    (tmp_path / "linked" / "loop").symlink_to(tmp_path / "linked")
    table.add_files(tmp_path / "linked")
    assert months(table) == {1: "2026-03"}


def test_nothing_found_is_refused(table, unchanged, tmp_path):
    (tmp_path / "empty").mkdir()
    with unchanged():
        with pytest.raises(Invalid, match="the folder has no files"):
            table.add_files(tmp_path / "empty")
        with pytest.raises(Invalid, match="no file matches the pattern"):
            table.add_files(str(tmp_path / "empty" / "*.parquet"))
        with pytest.raises(NotFound):
            table.add_files(tmp_path / "absent.parquet")


def test_a_file_with_the_characters_of_a_pattern_is_itself(table, put):
    folder = put("month=2026-01/a[1]*.parquet", 1)
    put("month=2026-01/a1x.parquet", 2)
    table.add_files(folder / "month=2026-01" / "a[1]*.parquet")
    assert months(table) == {1: "2026-01"}

"""Iceberg's properties of a table: what files are like, or an error that says what to set instead; never nothing."""

import pyarrow
import pyarrow.parquet
import pytest

from lakebed import Catalog, Invalid, Table
from lakebed.catalog.objects.properties import put_properties
from lakebed.catalog.transaction.commits import Request

COLUMNS = {"id": "long", "word": "string"}
ROWS = pyarrow.table({"id": range(40_000), "word": [f"word {number % 5000}" for number in range(40_000)]})

REFUSED = {
    "write.format.default": ("orc", "expected parquet"),
    "write.parquet.compression-codec": ("brotli", "zstd or snappy or gzip or uncompressed"),
    "write.parquet.compression-level": ("99", "1 to 22"),
    "write.parquet.row-group-size-bytes": ("huge", r"write\.parquet\.row-group-size-bytes"),
    "write.parquet.page-size-bytes": ("1", "1024 to"),
    "write.parquet.dict-size-bytes": ("-1", "not a number in its range"),
    "write.target-file-size-bytes": ("0", r"write\.target-file-size-bytes: .*128MB"),
    "write.delete.mode": ("sometimes", r"write\.delete\.mode.*copy-on-write"),
    "write.update.mode": ("never", "copy-on-write"),
    "write.merge.mode": ("", "copy-on-write"),
    "write.distribution-mode": ("range", "none or hash"),
    "write.metadata.compression-codec": ("gzip", r"checkpoint\.deltas"),
    "write.metadata.previous-versions-max": ("1", r"checkpoint\.deltas"),
    "write.parquet.bloom-filter-enabled.column.id": ("true", r"write\.bloom\.columns"),
    "write.delete.format.default": ("avro", r"write\.row-changes"),
    "write.object-storage.enabled": ("true", "location="),
    "write.wap.enabled": ("true", "create_branch"),
    # These were kept, without an effect.
    "format-version": ("2", "An export has the version"),
    "history.expire.max-snapshot-age-ms": ("1", "keeps every version"),
    "gc.enabled": ("false", "keeps every version"),
    "commit.retry.num-retries": ("4", "attempts="),
    "commit.manifest.min-count-to-merge": ("4", r"checkpoint\.deltas"),
    "read.split.target-size": ("134217728", "maxPartitionBytes"),
    "Read.Parquet.Vectorization.Enabled": ("false", "batches"),
    "schema.name-mapping.default": ("[]", "export_iceberg"),
    "write.parquet.compression-codecs": ("zstd", r"Did you mean write\.parquet\.compression-codec\?"),
    "Write.Delete.Mode": ("copy-on-write", r"Did you mean write\.delete\.mode\?"),
}


def new_table(main: Catalog, **properties: str) -> Table:
    return main.create_table("t", COLUMNS, properties={"write.inline-bytes": "0", **properties}, primary_key=["id"])


def footers(table: Table) -> list[pyarrow.parquet.FileMetaData]:
    return [pyarrow.parquet.read_metadata(path.removeprefix("file://")) for path in table.scan().files()]


def written(main: Catalog, **properties: str) -> pyarrow.parquet.FileMetaData:
    """The footer of the one file that an append writes."""
    table = new_table(main, **properties)
    table.append(ROWS)
    [footer] = footers(table)
    main.drop_table("t")
    return footer


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_obeyed_is_refused_and_says_what_to_set(main: Catalog, name: str, unchanged) -> None:
    value, said = REFUSED[name]
    table = new_table(main)
    with unchanged(), pytest.raises(Invalid, match=said):
        table.set_properties({name: value})


@pytest.mark.parametrize("codec", ["zstd", "Snappy", "gzip", "uncompressed"])
def test_files_are_compressed_as_the_table_says(main: Catalog, codec: str) -> None:
    found = written(main, **{"write.parquet.compression-codec": codec}).row_group(0).column(0).compression
    assert found == codec.upper()


def test_small_files_are_compressed_alike(main: Catalog) -> None:
    table = new_table(main, **{"write.parquet.compression-codec": "gzip"})
    table.append([{"id": 1, "word": "x"}])
    assert [footer.row_group(0).column(0).compression for footer in footers(table)] == ["GZIP"]


def test_levels_pages_and_dictionaries_are_as_the_table_says(main: Catalog) -> None:
    plain = written(main)
    best = written(main, **{"write.parquet.compression-level": "19"})
    assert best.row_group(0).column(0).total_compressed_size < plain.row_group(0).column(0).total_compressed_size
    paged = written(main, **{"write.parquet.page-size-bytes": "1kB"})
    # Each page has a head: 32,768 ids are some 256 pages of a kilobyte.
    more = paged.row_group(0).column(0).total_uncompressed_size - plain.row_group(0).column(0).total_uncompressed_size
    assert more > 100 * 20
    assert plain.row_group(0).column(1).has_dictionary_page
    short = written(main, **{"write.parquet.dict-size-bytes": "100"}).row_group(0).column(1)
    assert "PLAIN" in short.encodings and short.total_uncompressed_size > 300_000
    assert plain.row_group(0).column(1).total_uncompressed_size < 200_000


def test_files_and_row_groups_are_as_large_as_iceberg_says(main: Catalog) -> None:
    footer = written(main, **{"write.parquet.row-group-size-bytes": "100kB", "write.format.default": "PARQUET"})
    assert footer.num_row_groups > 5
    table = new_table(main, **{"write.target-file-size-bytes": "20kB", "write.parquet.row-group-size-bytes": "100kB"})
    table.append(ROWS)
    assert len(footers(table)) > 2


@pytest.mark.parametrize("kind", ["delete", "update", "merge"])
def test_each_kind_of_change_has_its_own_mode(main: Catalog, kind: str) -> None:
    table = new_table(main, **{f"write.{kind}.mode": "copy-on-write"})
    changes = {
        "delete": lambda: table.delete("id = 1"),
        "update": lambda: table.update({"word": "'x'"}, "id = 2"),
        "merge": lambda: table.upsert([{"id": 3, "word": "y"}]),
    }
    table.append(ROWS.slice(0, 10))
    for change in changes.values():
        change()
    shown = main.inspect("__snapshots").to_pylist()[-3:]
    copied = {name: one["removed_files"] > 0 for name, one in zip(changes, shown, strict=True)}
    assert copied == {name: name == kind for name in changes}


@pytest.mark.parametrize(
    ("theirs", "ours", "value"),
    [
        ("write.target-file-size-bytes", "write.target-file-bytes", "1MB"),
        ("write.parquet.row-group-size-bytes", "write.row-group-bytes", "1MB"),
        ("write.delete.mode", "write.row-changes", "merge-on-read"),
        ("write.merge.mode", "write.row-changes", "merge-on-read"),
        ("write.distribution-mode", "write.distribution", "none"),
    ],
)
def test_one_thing_by_two_names_is_refused(main: Catalog, theirs: str, ours: str, value: str) -> None:
    with pytest.raises(Invalid, match="say the same thing"):
        new_table(main, **{theirs: value, ours: value})
    table = new_table(main, **{theirs: value})
    with pytest.raises(Invalid, match=rf"unset_properties\(\['{theirs}'\]\)"):
        table.set_properties({ours: value})
    table.unset_properties([theirs])
    table.set_properties({ours: value})
    with pytest.raises(Invalid, match=rf"unset_properties\(\['{ours}'\]\)"):
        table.set_properties({theirs: value})


def test_a_level_needs_a_codec_that_has_levels(main: Catalog) -> None:
    table = new_table(main, **{"write.parquet.compression-level": "9"})
    with pytest.raises(Invalid, match="only zstd has a level"):
        table.set_properties({"write.parquet.compression-codec": "snappy"})
    table.unset_properties(["write.parquet.compression-level"])
    table.set_properties({"write.parquet.compression-codec": "snappy"})
    with pytest.raises(Invalid, match="only zstd has a level"):
        table.set_properties({"write.parquet.compression-level": "9"})


@pytest.mark.parametrize("name", ["read.me", "commit.by", "history", "gc", "format", "owner", "engine.room"])
def test_names_that_iceberg_does_not_know_are_free(main: Catalog, name: str) -> None:
    table = new_table(main, **{name: "mine"})
    assert table.properties[name] == "mine"


def test_a_lake_from_before_they_were_checked_is_still_used(main: Catalog) -> None:
    """Both names of one thing: Lakebed's own counts. Names that it never knew are kept."""
    table = new_table(main)
    old = {
        "write.inline-bytes": "0",
        "write.target-file-size-bytes": "huge",
        "write.target-file-bytes": "1MB",
        "write.metadata.compression-codec": "gzip",
        "write.format.default": "orc",
        "write.parquet.compression-codec": "snappy",
        "write.parquet.compression-level": "3",
        "format-version": "2",
    }
    table._scope.change(lambda work: put_properties(work, table.id, old), Request("set_properties"))
    table.append(ROWS)
    assert table.properties == old
    assert footers(table)[0].row_group(0).column(0).compression == "SNAPPY"
    table.set_properties({"owner": "ada"})
    assert table.scan().count() == ROWS.num_rows

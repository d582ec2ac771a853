"""Columns that say where a row is and whence it came: filled while it is read, kept when it is written again."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from lakebed.arrow.read import stored as stored_rows
from lakebed.arrow.read.read import read
from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.inline import inline
from lakebed.arrow.write.write import write
from lakebed.catalog.data.deletion_vectors import write_vectors
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.table.filter.filter import Comparison, Operator
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.metadata_columns import FILE, LAST_UPDATED, METADATA_COLUMNS, POSITION, ROW_ID
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field
from tests.support.sources import sources_of

SCHEMA = with_ids(Schema({"id": "long", "name": "string"}), 0, 1)
LINEAGE = Schema([*SCHEMA.fields, ROW_ID, LAST_UPDATED])
EVERY = ["id", *(one.name for one in METADATA_COLUMNS)]


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def committed(file: DataFileRef) -> DataFileRef:
    file.first_row_id, file.seq_min, file.seq_max = 100, 5, 5
    return file


def rewritten(files: LocalFiles) -> DataFileRef:
    """Four rows, of which the middle ones were written before: one was only moved, one was changed too."""
    numbers = pyarrow.int64()
    table = pyarrow.table(
        {
            "id": [1, 2, 3, 4],
            "_row_id": pyarrow.array([None, 7, 8, None], numbers),
            "_last_updated_sequence_number": pyarrow.array([None, 2, None, None], numbers),
        }
    )
    [file] = write(files, "d", LINEAGE, table)
    return committed(file)


def scanned(files: LocalFiles, file: DataFileRef, columns: list[str] | None = EVERY) -> list[dict[str, object]]:
    return Scan(sources_of(files), SCHEMA, pruned_plan([PlannedFile(file)]), columns=columns).to_arrow().to_pylist()


def test_rows_say_where_they_are_and_what_they_inherit(files: LocalFiles) -> None:
    [file] = write(files, "d", SCHEMA, pyarrow.table({"id": [1, 2, 3]}))
    [file] = write_vectors(files, "d", [(committed(file), [1])])
    assert scanned(files, file) == [
        {"id": 1, "_file": file.path, "_pos": 0, "_row_id": 100, "_last_updated_sequence_number": 5},
        {"id": 3, "_file": file.path, "_pos": 2, "_row_id": 102, "_last_updated_sequence_number": 5},
    ]
    assert scanned(files, file, ["_pos"]) == [{"_pos": 0}, {"_pos": 2}]
    assert scanned(files, file, None) == [{"id": 1, "name": None}, {"id": 3, "name": None}]


def test_positions_go_on_through_row_groups_and_batches(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "BATCH_ROWS", 4)
    [file] = write(files, "d", SCHEMA, pyarrow.table({"id": range(25)}), options=WriteOptions(group_rows=10))
    plan = pruned_plan([PlannedFile(committed(file))])
    found = Scan(sources_of(files), SCHEMA, plan, columns=["id", "_pos", "_row_id"]).to_arrow()
    assert found["_pos"].to_pylist() == found["id"].to_pylist() == list(range(25))
    assert found["_row_id"].to_pylist() == list(range(100, 125))
    part = read(sources_of(files), PlannedFile(file, (2,)), Schema([POSITION]), None)
    assert [one for batch in part for one in batch["_pos"].to_pylist()] == list(range(20, 25))


def test_a_file_says_itself_whence_rows_came_that_were_written_again(files: LocalFiles) -> None:
    found = scanned(files, rewritten(files))
    assert [one["_row_id"] for one in found] == [100, 7, 8, 103]
    assert [one["_last_updated_sequence_number"] for one in found] == [5, 2, 5, 5]


def test_lineage_is_no_column_of_the_table_and_has_no_statistics(files: LocalFiles) -> None:
    file = rewritten(files)
    assert [one.field_id for one in file.statistics] == [1, 2]
    assert scanned(files, file, None) == [{"id": one, "name": None} for one in (1, 2, 3, 4)]
    stored = pyarrow.parquet.read_schema(files.location(file.path))
    ids = {one.name: int(one.metadata[b"PARQUET:field_id"]) for one in stored}
    assert ids == {"id": 1, "name": 2, "_row_id": 2147483540, "_last_updated_sequence_number": 2147483539}


def test_inline_rows_have_the_same_columns(files: LocalFiles) -> None:
    made = inline(LINEAGE, pyarrow.table({"id": [1, 2], "_row_id": [None, 7]}), 1 << 20, room_bytes=1 << 20)
    assert not isinstance(made, pyarrow.RecordBatchReader)
    [entry] = made.entries
    assert [one.field_id for one in entry.statistics] == [1, 2]
    [entry] = write_vectors(files, "d", [(committed(entry), [0])])
    plan = pruned_plan([PlannedFile(entry)])
    found = Scan(sources_of(files, made.bodies), SCHEMA, plan, columns=EVERY).to_arrow().to_pylist()
    assert found == [{"id": 2, "_file": entry.path, "_pos": 1, "_row_id": 7, "_last_updated_sequence_number": 5}]


def test_rows_that_no_commit_has_numbered_have_no_lineage_yet(files: LocalFiles) -> None:
    [file] = write(files, "d", SCHEMA, pyarrow.table({"id": [1]}))
    expected = {"id": 1, "_file": file.path, "_pos": 0, "_row_id": None, "_last_updated_sequence_number": None}
    assert scanned(files, file) == [expected]
    again = rewritten(files)
    again.ClearField("first_row_id")
    assert [one["_row_id"] for one in scanned(files, again)] == [None, 7, 8, None]


def test_a_filter_can_ask_for_them(files: LocalFiles) -> None:
    file = rewritten(files)
    for field, value, kept in (
        (ROW_ID, 8, [3]),
        (POSITION, 2, [3]),
        (LAST_UPDATED, 2, [2]),
        (FILE, file.path, [1, 2, 3, 4]),
    ):
        filter = Comparison(field, Operator.EQUAL, value)
        found = Scan(sources_of(files), SCHEMA, pruned_plan([PlannedFile(file)], filter), filter, ["id"]).to_arrow()
        assert found["id"].to_pylist() == kept


def test_a_tables_own_column_of_such_a_name_is_its_own(files: LocalFiles) -> None:
    own = with_ids(Schema({"_row_id": "long", "_pos": "string"}), 0, 1)
    [file] = write(files, "d", own, pyarrow.table({"_row_id": [3, 4], "_pos": ["a", "b"]}))
    entries = [PlannedFile(committed(file))]
    found = Scan(sources_of(files), own, pruned_plan(entries), columns=["_row_id", "_pos", "_file"]).to_arrow()
    assert found.to_pylist() == [
        {"_row_id": 3, "_pos": "a", "_file": file.path},
        {"_row_id": 4, "_pos": "b", "_file": file.path},
    ]
    lineage = read(sources_of(files), entries[0], Schema([ROW_ID]), None)
    assert [one for batch in lineage for one in batch["_row_id"].to_pylist()] == [100, 101]


def test_a_name_that_is_neither_is_refused(files: LocalFiles) -> None:
    for columns in (["_rowid"], ["id", "_pos", "_pos"], "_pos"):
        with pytest.raises(Invalid):
            Scan(sources_of(files), SCHEMA, pruned_plan([]), columns=columns)


def test_the_schema_of_a_read_has_them(files: LocalFiles) -> None:
    file = rewritten(files)
    asked = Schema([FILE, SCHEMA.field("id"), LAST_UPDATED, Field("later", "int", id=9, physical_name="later")])
    for batch in read(sources_of(files), PlannedFile(file), asked, None):
        assert batch.schema.equals(arrow_schema(asked))
        assert batch["later"].null_count == 4

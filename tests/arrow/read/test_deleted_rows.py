"""Rows that were deleted are left out, wherever they are and however they are asked for, and no others."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from lakebed.arrow.read.read import read
from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.inline import inline
from lakebed.arrow.write.write import write
from lakebed.catalog.data.deletion_vectors import read_vector, write_vectors
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.errors import Corrupt, Invalid
from lakebed.files import LocalFiles
from lakebed.table.filter.bind import parse_filter
from lakebed.table.filter.filter import ALWAYS
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import Cut, Plan, PlannedFile
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field
from tests.support.sources import sources_of

SCHEMA = with_ids(Schema({"id": "long", "name": "string"}), 0, 1)


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def rows(*ids: int) -> pyarrow.Table:
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "name": [f"n{one % 3}" for one in ids]})


def written(files: LocalFiles, table: pyarrow.Table, group: int = 1 << 17) -> DataFileRef:
    [file] = write(files, "d", SCHEMA, table, options=WriteOptions(group_rows=group))
    return file


def inlined(files: LocalFiles, table: pyarrow.Table) -> tuple[Sources, DataFileRef]:
    made = inline(SCHEMA, table, 1 << 20, room_bytes=1 << 20)
    assert not isinstance(made, pyarrow.RecordBatchReader)
    [entry] = made.entries
    return sources_of(files, made.bodies), entry


def deleted(files: LocalFiles, file: DataFileRef, positions: Sequence[int]) -> DataFileRef:
    return next(iter(write_vectors(files, "d", [(file, positions)])), file)


def scan(sources: Sources, *entries: DataFileRef, where: str | None = None, **more: Any) -> Scan:
    filter = None if where is None else parse_filter(where, SCHEMA)
    return Scan(sources, SCHEMA, pruned_plan([PlannedFile(one) for one in entries], filter), filter, **more)


def ids(scan: Scan) -> list[int]:
    return scan.to_arrow().column("id").to_pylist()


def test_deleted_rows_are_left_out_of_every_answer(files: LocalFiles) -> None:
    sources = sources_of(files)
    file = deleted(files, written(files, rows(*range(10))), [0, 3, 9])
    kept = [1, 2, 4, 5, 6, 7, 8]
    assert ids(scan(sources, file)) == kept
    assert ids(scan(sources, file, where="id > 2 and name <> 'n2'")) == [4, 6, 7]
    assert ids(scan(sources, file, limit=3)) == kept[:3]
    assert scan(sources, file, columns=[]).to_arrow().num_rows == 7
    assert scan(sources, file).to_batches().read_all().num_rows == 7
    assert scan(sources, file).to_pandas()["id"].tolist() == kept
    assert scan(sources, file).count() == 7
    assert scan(sources, file, where="id < 4").count() == 2
    assert scan(sources, file, where="id < 4", limit=1).count() == 1


tables = st.integers(1, 40).flatmap(
    lambda many: st.tuples(st.just(many), st.lists(st.sets(st.integers(0, many - 1)), min_size=1, max_size=3))
)
filters = st.sampled_from([None, "id >= 10", "name = 'n1'", "id between 5 and 20 and name <> 'n0'", "id is null"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(tables, st.integers(1, 15), filters, st.none() | st.integers(0, 30), st.booleans())
def test_a_read_gives_the_rows_without_the_positions(
    files: LocalFiles, table: tuple[int, list[set[int]]], group: int, where: str | None, limit: int | None, small: bool
) -> None:
    many, deletes = table
    data = rows(*range(many))
    sources, file = inlined(files, data) if small else (sources_of(files), written(files, data, group))
    for positions in deletes:
        file = deleted(files, file, sorted(positions))
    gone = set().union(*deletes)
    left = data.filter(pyarrow.array([one not in gone for one in range(many)]))
    expected = duckdb.arrow(left).filter(where or "true").order("id").limit(limit or (0 if limit == 0 else 1000))
    wanted = [one for one, _ in expected.fetchall()]
    found = scan(sources, file, where=where, limit=limit)
    assert ids(found) == wanted
    assert found.count() == len(wanted)
    assert scan(sources, file, where=where, limit=limit, columns=["name"]).to_arrow().num_rows == len(wanted)


def test_a_row_group_of_deleted_rows_is_not_read(files: LocalFiles) -> None:
    file = deleted(files, written(files, rows(*range(30)), group=10), list(range(10, 20)))
    data = bytearray(files.read(file.path))
    chunk = pyarrow.parquet.read_metadata(files.location(file.path)).row_group(1).column(0)
    data[chunk.data_page_offset : chunk.data_page_offset + 20] = bytes(20)
    files.put(file.path, data)
    assert ids(scan(sources_of(files), file)) == [*range(10), *range(20, 30)]
    with pytest.raises(Corrupt):
        ids(scan(sources_of(files), DataFileRef(path=file.path, file_size=file.file_size, num_rows=30)))


def test_positions_are_counted_through_planned_row_groups(files: LocalFiles) -> None:
    file = deleted(files, written(files, rows(*range(30)), group=10), [0, 11, 25])
    for blocks, left in {(1,): [10, *range(12, 20)], (2, 0): [*range(1, 10), *range(20, 25), *range(26, 30)]}.items():
        planned = PlannedFile(file, blocks)
        found = pyarrow.Table.from_batches(read(sources_of(files), planned, SCHEMA, None), arrow_schema(SCHEMA))
        assert found["id"].to_pylist() == left
        assert Scan(sources_of(files), SCHEMA, pruned_plan([planned])).count() == len(left)
    with pytest.raises(Corrupt, match="3 row groups"):
        list(read(sources_of(files), PlannedFile(file, (3,)), SCHEMA, None))


def test_a_long_file_is_read_batch_by_batch(files: LocalFiles) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["lakebed.arrow.read.stored"], "BATCH_ROWS", 7)
        file = deleted(files, written(files, rows(*range(40)), group=20), [6, 7, 20, 39])
        left = [one for one in range(40) if one not in (6, 7, 20, 39)]
        assert ids(scan(sources_of(files), file)) == left
        assert ids(scan(sources_of(files), file, where="name = 'n2' or id = 6")) == [
            one for one in left if one % 3 == 2
        ]
        assert scan(sources_of(files), file, columns=[]).to_arrow().num_rows == 36
        sources, small = inlined(files, rows(*range(20)))
        small = deleted(files, small, [6, 7, 13])
        assert ids(scan(sources, small, where="id > 5")) == [8, 9, 10, 11, 12, *range(14, 20)]


def test_the_vector_of_one_reader_is_not_changed_by_another(files: LocalFiles) -> None:
    file = deleted(files, written(files, rows(*range(10))), [2, 4])
    before = read_vector(files, file)
    running = scan(sources_of(files), file).to_batches()
    later = deleted(files, file, [6])
    assert ids(scan(sources_of(files), later)) == [0, 1, 3, 5, 7, 8, 9]
    assert running.read_all()["id"].to_pylist() == [0, 1, 3, 5, 6, 7, 8, 9]
    assert before == BitMap64([2, 4])


def test_counting_opens_no_file_for_what_the_entries_say(files: LocalFiles) -> None:
    file = deleted(files, written(files, rows(*range(10))), [2, 4])
    sources, small = inlined(files, rows(1, 2, 3))
    small = deleted(files, small, [0])
    files.delete_many([one.path for one in files.list()])
    nothing = replace(sources, pending={})
    assert scan(nothing, file, small).count() == 10
    assert scan(nothing, file, small, limit=9).count() == 9
    filter = parse_filter("id >= 0", SCHEMA)
    plan = pruned_plan([PlannedFile(file, residual=ALWAYS)], filter)
    assert Scan(nothing, SCHEMA, plan, filter).count() == 8


def test_a_limit_counts_the_rows_that_are_left(files: LocalFiles) -> None:
    one = deleted(files, written(files, rows(*range(10))), list(range(8)))
    other = written(files, rows(*range(10, 20)))
    last = written(files, rows(20))
    files.delete(last.path)
    assert ids(scan(sources_of(files), one, other, last, limit=12)) == [8, 9, *range(10, 20)]
    with pytest.raises(Corrupt):
        ids(scan(sources_of(files), one, other, last, limit=13))


def test_inline_rows_and_files_come_in_their_order(files: LocalFiles) -> None:
    pending: dict[int, bytes] = {}
    entries = []
    for start in range(0, 40, 4):
        if start % 8:
            entries.append(written(files, rows(*range(start, start + 4))))
        else:
            sources, entry = inlined(files, rows(*range(start, start + 4)))
            pending |= sources.pending
            entries.append(entry)
    sources = sources_of(files, pending)
    assert ids(scan(sources, *entries)) == list(range(40))
    assert ids(scan(sources, *entries, where="id >= 6 and name = 'n0'")) == list(range(6, 40, 3))
    assert ids(scan(sources, *entries, limit=9)) == list(range(9))
    assert scan(sources, *entries).count() == 40
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["lakebed.arrow.read.scan"], "WINDOW_FILES", 3)
        assert ids(scan(sources, *entries)) == list(range(40))
        patch.setattr(sys.modules["lakebed.arrow.read.scan"], "WINDOW_BYTES", 1)
        assert ids(scan(sources, *entries)) == list(range(40))


def test_many_inline_entries_are_read_as_each_alone(files: LocalFiles) -> None:
    pending: dict[int, bytes] = {}
    entries = []
    for start in range(0, 30, 3):
        sources, entry = inlined(files, rows(start, start + 1, start + 2))
        pending |= sources.pending
        entries.append(deleted(files, entry, [1, 2]) if start % 9 == 0 else entry)
    sources = sources_of(files, pending)
    left = [one for one in range(30) if one // 3 % 3 or one % 3 == 0]
    assert ids(scan(sources, *entries)) == left
    assert scan(sources, *entries).to_arrow().column("id").num_chunks == 1
    assert scan(sources, *entries, columns=["id", "_file"]).to_arrow().column("id").num_chunks == 10
    assert ids(scan(sources, *entries, columns=["id", "_pos"])) == left
    assert ids(scan(sources, *entries, where="name = 'n0'")) == list(range(0, 30, 3))
    assert scan(sources, *entries, where="name = 'n1'").count() == 6
    assert scan(sources, *entries, columns=[]).to_arrow().num_rows == len(left)


def test_the_damaged_one_of_many_inline_entries_is_named(files: LocalFiles) -> None:
    made = [inlined(files, rows(start)) for start in range(5)]
    pending = {number: body for sources, _ in made for number, body in sources.pending.items()}
    entries = [entry for _, entry in made]
    required = Schema([replace(SCHEMA.field("id"), required=True)])
    null = pyarrow.table({"id": pyarrow.nulls(1, pyarrow.int64()), "name": ["x"]})
    other, entries[3] = inlined(files, null)
    pending |= other.pending
    with pytest.raises(Corrupt, match="required column has a null") as caught:
        Scan(sources_of(files, pending), required, pruned_plan([PlannedFile(one) for one in entries])).to_arrow()
    assert caught.value.subject == entries[3].path


def test_inline_rows_are_shaped_as_files_are(files: LocalFiles) -> None:
    sources, entry = inlined(files, rows(1, 2))
    renamed = replace(SCHEMA.field("name"), name="label")
    added = Field("name", "long", id=9, physical_name="name-2", initial_default=7)
    later = Schema([added, renamed])
    found = Scan(sources, later, pruned_plan([PlannedFile(entry)])).to_arrow()
    assert found.to_pylist() == [{"name": 7, "label": "n1"}, {"name": 7, "label": "n2"}]
    assert found.schema == arrow_schema(later)


def test_inline_rows_that_are_not_as_they_were_are_corrupt(files: LocalFiles) -> None:
    sources, entry = inlined(files, rows(*range(50)))
    [(number, body)] = sources.pending.items()
    with pytest.raises(Corrupt, match="inline rows are not those"):
        ids(scan(replace(sources, pending={}), entry))
    with pytest.raises(Corrupt, match="inline rows are not those"):
        ids(scan(replace(sources, pending={number: body[:-1]}), entry))
    # It has no checksum of its own: the store has one.
    for harmed in (bytes(len(body)), body[:8] + bytes(8) + body[16:]):
        with pytest.raises(Corrupt) as caught:
            ids(scan(replace(sources, pending={number: harmed}), entry))
        assert caught.value.subject == entry.path
    entry.num_rows = 51
    with pytest.raises(Corrupt, match="expected 51 rows, found 50 rows"):
        ids(scan(sources, entry))


def test_files_for_other_engines_are_refused_if_they_are_not_all_of_it(files: LocalFiles) -> None:
    plain = written(files, rows(1))
    sources, small = inlined(files, rows(2))
    assert is_inline(small)
    assert scan(sources, plain).files() == [files.location(plain.path)]
    with pytest.raises(Invalid, match=r"inline rows.*2 entries.*compact\(\)"):
        scan(sources, plain, small, small).files()
    with pytest.raises(Invalid, match=r"deleted rows in 1 files.*compact\(\)"):
        scan(sources, plain, deleted(files, plain, [0])).files()


def test_a_file_that_vanished_or_whose_vector_did_is_corrupt(files: LocalFiles) -> None:
    file = deleted(files, written(files, rows(1, 2)), [0])
    files.delete(file.path)
    with pytest.raises(Corrupt, match="not the one that was written"):
        ids(scan(sources_of(files), file))
    other = deleted(files, written(files, rows(1, 2)), [0])
    files.delete(other.dv_path)
    with pytest.raises(Corrupt, match="deletion vector"):
        ids(scan(sources_of(files), other))


def test_the_residual_is_tested_in_place_of_the_filter(files: LocalFiles) -> None:
    file = written(files, rows(*range(10)))
    filter = parse_filter("id < 5 and name = 'n1'", SCHEMA)
    left = parse_filter("name = 'n1'", SCHEMA)
    planned = [PlannedFile(file, residual=left), PlannedFile(file), PlannedFile(file, residual=ALWAYS)]
    found = [ids(Scan(sources_of(files), SCHEMA, pruned_plan([one], filter), filter)) for one in planned]
    assert found == [[1, 4, 7], [1, 4], list(range(10))]


def test_a_plan_explains_itself(files: LocalFiles) -> None:
    ten = [PlannedFile(written(files, rows(*range(start, start + 10)))) for start in range(0, 100, 10)]
    filter = parse_filter("id >= 75", SCHEMA)
    pruned = Scan(sources_of(files), SCHEMA, pruned_plan(ten, filter), filter)
    assert pruned.explain() == "reads 3 of 10 files, 3 of 10 row groups\nstatistics: cut 7 files, 7 row groups"
    cuts = {"partition": Cut(1000, 4000, "name is no partition field"), "bloom": Cut(1, 1)}
    plan = Plan((replace(ten[0], row_groups=(1, 2)),), 1002, cuts)
    assert Scan(sources_of(files), SCHEMA, plan, filter).explain() == (
        "reads 1 of 1,002 files, 2 of 4,003 row groups\n"
        "partition: cut 1,000 files, 4,000 row groups; name is no partition field\n"
        "bloom: cut 1 file, 1 row group"
    )

"""`lake.check()`: records, and the files that they refer to."""

import os
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import lakebed
from lakebed import Invalid
from lakebed.catalog.tables.tables import table_state
from lakebed.records.layout import PREFIX, Space, prefix_range
from lakebed.table.manifest.inline import BODY_KIND
from lakebed.table.statistics import footers


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "note": [f"note {id}" for id in ids]})


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.setattr("lakebed.catalog.transaction.pending_delta.INLINE_BYTES", 300)  # larger manifests become files
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def table(lake):
    """A table with files, a vector, a manifest in a file, a checkpoint, and inline rows on a branch."""
    main = lake.catalog()
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long", "note": "string"}, properties={"write.inline-bytes": "0"})
    for first in (0, 100, 200):
        table.append(numbers(*range(first, first + 50)))
    table.delete("id in (3, 103)")
    table.checkpoint()
    table.set_properties({"write.inline-bytes": "64000"})
    main.create_branch("dev").table("sales.orders").append(numbers(999))
    return table


def paths(lake, ending):
    root = Path(lake.url.removeprefix("file://"))
    return sorted(path for path in root.rglob(f"*{ending}") if path.is_file())


def rewritten(path, change):
    path.write_bytes(change(path.read_bytes()))


KINDS = {".parquet": "data file", ".puffin": "deletion vectors", ".entries": "manifest", ".part": "checkpoint"}


def test_a_whole_lake_has_no_problem(lake, table):
    for ending in KINDS:
        assert paths(lake, ending), ending
    assert (lake.check(), lake.check(deep=True), lake.check().orphans) == ([], [], ())


@pytest.mark.parametrize("ending", KINDS)
def test_a_missing_file_is_reported_with_its_table_and_version(lake, table, ending):
    """`check` used to read records only: a lake without its files had no problem."""
    gone = paths(lake, ending)[0]
    gone.unlink()
    problems = lake.check()
    named = [problem for problem in problems if gone.name in problem]
    assert named, problems
    assert all(f"table sales.orders ({table.id}), version " in problem for problem in named)
    assert all(problem.startswith(KINDS[ending]) for problem in named)


@pytest.mark.parametrize("ending", KINDS)
def test_a_truncated_file_is_reported(lake, table, ending):
    cut = paths(lake, ending)[0]
    rewritten(cut, lambda data: data[:-3])
    assert any(cut.name in problem or "sales.orders" in problem for problem in lake.check(deep=ending == ".part"))


@pytest.mark.parametrize("ending", [".parquet", ".puffin", ".entries", ".part"])
def test_a_flipped_bit_is_found_by_a_deep_check(lake, table, ending):
    damaged = paths(lake, ending)[0]
    # In a page, a vector, a column: headers and footers of Parquet and Puffin have no checksum.
    place = 20 if ending == ".puffin" else len(damaged.read_bytes()) // 3
    rewritten(damaged, lambda data: data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
    assert any("sales.orders" in problem for problem in lake.check(deep=True))


def test_inline_rows_that_are_gone_are_reported(lake, table):
    store = lake._context.metastore._store
    with store.begin() as transaction:
        for key, _ in transaction.snapshot.get_range(prefix_range(PREFIX[Space.BODY])).entries:
            if BODY_KIND.encode() in key:
                transaction.clear(key)
        transaction.commit()
    assert any("inline rows are not those that were written" in problem for problem in lake.check())


def test_files_that_nothing_refers_to_are_no_problem(lake, table):
    folder = paths(lake, ".parquet")[0].parent
    (folder / "left.parquet").write_bytes(b"of a killed writer")
    found = lake.check()
    assert (found, [Path(path).name for path in found.orphans]) == ([], ["left.parquet"])
    assert lake.check(deep=True) == []


def test_a_purge_during_a_check_is_no_problem(lake, table, monkeypatch):
    """The files go after the records that name them were read."""
    main = lake.catalog()
    other = main.create_table("other", {"id": "long", "note": "string"}, properties={"write.inline-bytes": "0"})
    other.append(numbers(1))
    main.drop_table("other")
    files = type(lake._context.files)
    own, purged = files.size, []

    def size(self, path):
        if not purged:
            purged.append(True)
            main.purge_table("other")
        return own(self, path)

    monkeypatch.setattr(files, "size", size)
    assert (lake.check(), purged) == ([], [True])


def test_only_a_flag_makes_it_deep(lake):
    with pytest.raises(Invalid, match="deep is True or False"):
        lake.check(deep="yes")


def test_an_outside_file_is_checked_where_it_is(lake, table, tmp_path):
    outside = tmp_path / "outside.parquet"
    pyarrow.parquet.write_table(numbers(7), outside)
    table.add_files([str(outside)])
    assert lake.check(deep=True) == []
    os.unlink(outside)
    assert any("outside.parquet" in problem and "missing" in problem for problem in lake.check())


def test_statistics_of_a_file_that_are_not_those_of_its_row_groups_are_reported(lake, monkeypatch):
    """A filter would skip the file although rows of its second row group pass."""
    options = {"write.inline-bytes": "0", "write.row-group-rows": "10"}
    table = lake.catalog().create_table("t", {"id": "long", "note": "string"}, properties=options)
    table.append(numbers(*range(25)))
    assert lake.check(deep=True) == []
    own = footers._set_bounds
    monkeypatch.setattr(footers, "_set_bounds", lambda known, type, chunks: own(known, type, chunks[:1]))
    table.append(numbers(*range(100, 125)))
    monkeypatch.undo()
    assert table.scan("id = 124").count() == 0, "the row is not found"
    [problem] = lake.check()
    assert problem.startswith("manifest of table t ")
    assert "upper bound of column 1 is another than that of the row groups" in problem
    assert table.checkpoint()
    found = lake.check(deep=True)
    assert [text.split(" of table")[0] for text in found] == ["manifest", "checkpoint"]


def test_an_object_that_two_checkpoints_share_is_kept_until_the_last_is_gone(lake):
    """MO-8: a part of a checkpoint is an orphan once no checkpoint refers to it, and not before."""
    options = {"write.inline-bytes": "0", "checkpoint.deltas": "0"}
    table = lake.catalog().create_table("t", {"id": "long", "note": "string"}, properties=options)
    versions, work = [], table._scope.read()
    for first in (0, 100):
        table.append(numbers(first))
        versions.append(table.checkpoint())
    parts = {path.name for path in paths(lake, ".part")}
    [shared] = {Path(row["base_key"]).name for row in lake.catalog().at(versions[0]).inspect("__segments").to_pylist()}
    state, metastore = table_state(work, table.id), work.context.metastore
    orphans = []
    for version in versions:
        metastore.drop_checkpoint(work.ref.line.id, state.partition, version)
        orphans.append({Path(path).name for path in lake.check().orphans})
    assert len(parts) == 2 and shared in parts
    assert orphans == [set(), parts]

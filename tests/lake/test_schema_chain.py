"""ME-24: the chain of schemas is the table's, whoever opens it; P24: every version lists its own segments."""

import random

import pyarrow
import pytest

from lakebed.catalog.data.live_files import files_since_checkpoint
from lakebed.catalog.data.snapshots import manifests
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction import pending_delta
from lakebed.errors import Invalid
from lakebed.store import KeyRange
from lakebed.table.entries import parts

VALUE_BYTES = 100_000  # what every store takes


def test_an_added_column_is_there_for_whoever_opens_the_table_next(store, open_lake, main):
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1]}))
    with table.evolve() as change:
        change.add_column("note", "string")
    table.append(pyarrow.table({"id": [2], "note": ["x"]}))
    again = open_lake(store).catalog().table("t")
    assert again.schema.names == ("id", "note")
    work = again._scope.read()
    first, last = (manifests(work, table_state(work, again.id))[place] for place in (1, -1))
    assert last.schema_id == first.schema_id + 1
    assert last.last_column_id == first.last_column_id + 1
    assert again.scan().to_arrow().to_pylist() == [{"id": 1, "note": None}, {"id": 2, "note": "x"}]


def test_rows_of_another_schema_than_the_tables_are_refused_by_the_columns_name(main):
    table = main.create_table("t", {"id": "long", "note": "string"})
    with pytest.raises(Invalid, match="note"):
        table.append(pyarrow.table({"id": [1], "note": [2.5]}))


def test_every_version_lists_its_own_segments_and_no_value_is_too_large(main, store, monkeypatch):
    """P24: the parts of checkpoints, and deltas from a file to thousands, on a trunk and a branch."""
    monkeypatch.setattr(parts, "PART_FILES", 50)
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0", "checkpoint.deltas": "0"})
    chance, seen = random.Random(7), []
    for number in range(30):
        line = table if number < 15 or number % 2 else main.branch("dev").table("t")
        if number == 14:
            main.create_branch("dev")
        line.append(pyarrow.table({"id": [number]}))
        if chance.random() < 0.2:
            line.checkpoint()
        seen.append((line, line.version, paths(line)))
    for line, version, live in seen:
        assert paths(line.at(version=version)) == live
    entries = store.read(lambda transaction: transaction.snapshot.get_range(KeyRange(b"", b"\xff")).entries)
    assert max(len(value) for _, value in entries) <= VALUE_BYTES


def paths(table):
    work = table._scope.read()
    return sorted(files_since_checkpoint(work, table_state(work, table.id)).all(work.context))


def test_a_delta_that_no_value_holds_is_an_object(main, store, monkeypatch):
    """P24: an oversized one is handled, and never loops."""
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 200)
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"id": [1]}))
    table.checkpoint()
    assert table.scan().to_arrow()["id"].to_pylist() == [1]

"""ME-24: the chain of schemas is the table's, whoever opens it; P24: every version lists its own segments."""

import random

import pyarrow
import pytest

from lakebed.catalog.data.live_files import files_since_checkpoint
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Corrupt, Invalid
from lakebed.store import KeyRange
from lakebed.table.entries import parts
from tests.support.manifests import manifests

VALUE_BYTES = 100_000  # what every store takes


def test_an_added_column_is_there_for_whoever_opens_the_table_next(store, open_lake, main):
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1]}))
    with table.evolve() as change:
        change.add_column("note", "string")
    table.append(pyarrow.table({"id": [2], "note": ["x"]}))
    again = open_lake(store).catalog().table("t")
    assert again.schema.names == ("id", "note")
    first, last = (manifests(again)[place] for place in (1, -1))
    assert last.schema_id == first.schema_id + 1
    assert last.last_column_id == first.last_column_id + 1
    assert again.scan().to_arrow().to_pylist() == [{"id": 1, "note": None}, {"id": 2, "note": "x"}]
    with again.evolve() as change:
        change.drop_column("note")
    again.append(pyarrow.table({"id": [3]}))
    assert manifests(again)[-1].last_column_id == last.last_column_id, "the id of a dropped column is never free"


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


def test_a_delta_that_no_value_holds_is_an_object(main, store, folder, open_lake):
    """P24: its entries are in a file, and no reader does without it; what the store holds stays small."""
    own = {"partition_by": ["id"], "properties": {"write.inline-bytes": "0"}}
    table = main.create_table("t", {"id": "long", "note": "string"}, **own)
    table.append(pyarrow.table({"id": [0], "note": ["small"]}))
    assert list(folder.rglob("*.entries")) == []
    table.append(pyarrow.table({"id": range(1, 300), "note": [f"{number:040}" for number in range(1, 300)]}))
    [path] = folder.rglob("*.entries")
    assert (len(table.scan().files()), table.scan().count()) == (300, 300)
    entries = store.read(lambda transaction: transaction.snapshot.get_range(KeyRange(b"", b"\xff")).entries)
    assert max(len(value) for _, value in entries) < 10_000, "the entries of 300 files are not in the store too"
    kept = path.rename(path.with_suffix(".away"))
    with pytest.raises(Corrupt, match=path.name):
        open_lake(store).catalog().table("t").scan()
    kept.rename(path)
    assert open_lake(store).catalog().table("t").scan("id = 299").to_arrow()["note"].to_pylist() == [f"{299:040}"]

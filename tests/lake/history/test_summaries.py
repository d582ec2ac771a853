"""What callers say of the snapshots that their writes make: kept in manifests, and shown wherever snapshots are."""

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from lakebed import Invalid, TooLarge, event_id, when_matched_update
from lakebed.lake.table import Table
from tests.support.manifests import manifests
from tests.support.row_tables import SCHEMA, arrow, new_table, row

SAID = {"batch": "17", "größe": "klein"}


def _file(table, folder):
    path = folder / "outside.parquet"
    pyarrow.parquet.write_table(arrow(row(50)), path)
    return path


WRITES = {
    "append": lambda t, _: t.append(arrow(row(7)), summary=SAID),
    "append that adds a column": lambda t, _: t.append([{"id": 7, "more": 1}], evolve="add", summary=SAID),
    "append that casts": lambda t, _: t.append([{"id": "7"}], cast=True, summary=SAID),
    "overwrite": lambda t, _: t.overwrite(arrow(row(7)), summary=SAID),
    "overwrite_partitions": lambda t, _: t.overwrite_partitions(arrow(row(7)), summary=SAID),
    "delete": lambda t, _: t.delete("id = 1", summary=SAID),
    "update": lambda t, _: t.update({"amount": "0"}, "id = 1", summary=SAID),
    "upsert": lambda t, _: t.upsert(arrow(row(1)), summary=SAID),
    "merge": lambda t, _: t.merge(arrow(row(1)), "id", when_matched_update(), summary=SAID),
    "truncate": lambda t, _: t.truncate(summary=SAID),
    "add_files": lambda t, folder: t.add_files(_file(t, folder), summary=SAID),
    "compact": lambda t, _: t.compact(summary=SAID),
}


def _said(table: Table) -> dict[str, str]:
    return table.snapshots()[0].summary


@pytest.mark.parametrize("write", WRITES)
def test_every_write_says_what_its_caller_says_of_the_snapshot(main, tmp_path, write):
    """Source document 003's field 10."""
    table = new_table(main, "64000", "by region")
    assert _said(table) == {}
    WRITES[write](table, tmp_path)
    assert _said(table) == SAID
    assert [snapshot.summary for snapshot in table.snapshots()[1:]] == [{}] * (len(table.snapshots()) - 1)
    assert SAID.items() <= dict(manifests(table)[-1].properties).items()
    assert [done.summary for done in table.history()[0].operations if done.summary] == [SAID]
    shown = main.inspect("__snapshots").to_pylist()
    last = max((one for one in shown if one["table_uuid"] == table.id), key=lambda one: one["snapshot_id"])
    assert SAID.items() <= json.loads(last["summary"]).items()
    assert SAID.items() <= table.describe().snapshots()[-1]["summary"].items()
    assert SAID.items() <= table.describe().metadata()["snapshots"][-1]["summary"].items()


def test_an_export_to_iceberg_has_it(main):
    table = new_table(main, "0")
    table.append(arrow(row(7)), summary=SAID)
    document = json.loads(Path(table.export_iceberg().removeprefix("file://")).read_text())
    summary = document["snapshots"][-1]["summary"]
    assert summary["operation"] == "append"
    assert SAID.items() <= summary.items()


def test_calls_of_one_transaction_say_it_together_and_the_later_wins(main, unchanged):
    table = new_table(main, "64000")
    with main.transaction("two") as tx:
        tx.table("t").append(arrow(row(7)), summary={"batch": "1", "first": "x"})
        tx.table("t").append(arrow(row(8)), summary={"batch": "2"})
        tx.table("t").delete("id = 1", summary={"third": "y"})
    assert _said(table) == {"batch": "2", "first": "x", "third": "y"}
    said = [dict(done.summary) for done in table.history()[0].operations]
    assert said == [{"batch": "2", "first": "x"}, {"third": "y"}]
    with unchanged(), pytest.raises(TooLarge), main.transaction("too much") as tx:
        tx.table("t").append(arrow(row(9)), summary={"a": "x" * 5000})
        tx.table("t").append(arrow(row(10)), summary={"b": "x" * 5000})


def test_merges_and_picks_bring_it_and_reverts_do_not(main):
    table = new_table(main, "64000")
    dev = main.create_branch("dev")
    dev.table("t").append(arrow(row(7)), summary={"batch": "1", "source": "a"})
    picked = dev.table("t").append(arrow(row(8)), summary={"batch": "2"})
    made = dev.create_table("made", SCHEMA)
    made.append(arrow(row(1)), summary=SAID)
    main.cherry_pick(picked)
    assert _said(table) == {"batch": "2"}
    merged = main.merge(dev).commit
    assert _said(table) == {"batch": "2", "source": "a"}
    assert _said(main.table("made")) == SAID
    assert {done.name: dict(done.summary) for done in merged.operations if done.summary} == {
        "t": {"batch": "2", "source": "a"},
        "made": SAID,
    }
    main.revert(merged)
    assert _said(table) == {}
    assert table.snapshots()[1].summary == {"batch": "2", "source": "a"}
    assert _said(dev.table("t")) == {"batch": "2"}


def test_summaries_that_are_too_large_together_do_not_stop_a_merge(main):
    table = new_table(main, "64000")
    dev = main.create_branch("dev")
    for number in range(3):
        dev.table("t").append(arrow(row(7 + number)), summary={str(number): "x" * 4000})
    main.merge(dev)
    assert _said(table).keys() == {"1", "2"}


def test_it_is_part_of_the_call_that_an_event_id_stands_for(main, unchanged):
    table, event = new_table(main, "64000"), event_id("batch", 17)
    first = table.append(arrow(row(7)), summary=SAID, event_id=event)
    with unchanged():
        assert table.append(arrow(row(7)), summary=SAID, event_id=event) == first
        for other in ({"batch": "18"}, None):
            with pytest.raises(Invalid, match="belongs to another change"):
                table.append(arrow(row(7)), summary=other, event_id=event)


@pytest.mark.parametrize("write", WRITES)
def test_a_key_of_icebergs_is_refused_before_anything_is_written(main, tmp_path, write, unchanged, monkeypatch):
    table = new_table(main, "64000", "by region")
    monkeypatch.setitem(globals(), "SAID", {"operation": "append"})
    with unchanged(), pytest.raises(Invalid, match="write this key"):
        WRITES[write](table, tmp_path)


def test_a_write_that_changes_nothing_makes_no_snapshot_to_speak_of(main, unchanged):
    table = new_table(main, "64000")
    with unchanged():
        table.delete("id = 99", summary=SAID)

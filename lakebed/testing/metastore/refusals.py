"""Limits and bad input: a typed error, and nothing is written."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from lakebed.errors import LakebedError, TooLarge
from lakebed.metastore.change import AttributeRead, DataChange, Operation, State
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.testing.metastore.writer import (
    Writer,
    all_pages,
    appending,
    picture,
    properties,
    root_partition,
    trunk,
)

BAD = (
    "a bad event id",
    "a bad object id",
    "a bad container id",
    "a taken name",
    "a container that is none",
    "an attribute of the dropped",
    "a life among the attributes",
    "data among the attributes",
    "a record of another attribute",
    "a record that is none",
    "an old base",
    "two deltas for a partition",
    "a delta that is none",
    "no ids at all",
    "a bad table id",
    "a bad operation",
    "a bad id that was read",
    "a bad id of a body",
    "a bad id of a parent",
    "a bad id in an operation",
    "a message that is not Unicode",
    "an author who is not Unicode",
    "a count beyond 64 bits",
)


class RefusalsSuite:
    @pytest.mark.parametrize("what", ["body", "record", "delta", "message", "lives"])
    def test_a_change_beyond_a_transaction_is_too_large_and_nothing_is_written(
        self, metastore: Metastore, what: str
    ) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        before = metastore.newest()
        large: dict[str, dict[str, Any]] = {
            "body": {"bodies": {(table, "rows", number): bytes(1_000_000) for number in range(11)}},
            "record": {"attributes": {(table, Attribute.VIEW): pb.ViewText(sql={"spark": "x" * 120_000})}},
            "delta": {
                "data": (
                    DataChange(
                        table, root_partition(table), lambda previous, first: pb.TableHistory(manifest=bytes(120_000))
                    ),
                )
            },
            "message": {"message": "x" * 120_000},
            "lives": {
                "lives": {
                    new_id(): life(pb.TABLE, writer.line.top, f"{'x' * 200} {number}") for number in range(12_000)
                }
            },
        }
        parts = large[what]
        parts["lives"] = {new_id(): life(pb.TABLE, writer.line.top, "u"), **parts.get("lives", {})}
        with pytest.raises(TooLarge) as caught:
            writer.commit(**parts)
        assert caught.value.advice
        assert metastore.newest() == before
        assert writer.names() == {"t": table}
        assert metastore.bodies([(table, "rows", 0)]) == [None]

    def test_four_thousand_tables_can_be_made_at_once(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        lives = {new_id(): life(pb.TABLE, writer.line.top, f"t{number}") for number in range(4000)}
        operations = tuple(Operation("create", one, record.name) for one, record in lives.items())
        commit = writer.commit(lives=lives, operations=operations)
        assert len(all_pages(writer.reader().children, writer.line.top)) == 4000
        assert [commit, commit.operations] == [metastore.find(commit.id), operations]
        assert writer.reader().log(object_id=next(iter(lives))).items == [commit]

    @pytest.mark.parametrize("what", BAD)
    def test_an_error_changes_nothing(self, metastore: Metastore, what: str) -> None:
        """Law 10: each change is half good; none of it is there afterwards."""
        writer = Writer(metastore, trunk())
        namespace, table = writer.namespace("n"), writer.table("t")
        dropped = writer.table("gone")
        writer.drop(dropped)
        base = metastore.newest()
        writer.set(table, 1)
        good = new_id()
        top = writer.line.top
        ids, names = (namespace, table, dropped, good), ("n", "t", "gone", "good")
        before = picture(writer.reader(), ids, names)
        newest = metastore.newest()

        def wrong(previous: State | None, first: Mapping[str, int]) -> pb.TableHistory:
            return cast(pb.TableHistory, properties(1))

        bad: dict[str, Callable[[], dict[str, Any]]] = {
            "a bad event id": lambda: {"event_id": "not an id"},
            "a bad object id": lambda: {"lives": {"not an id": life(pb.TABLE, top, "x")}},
            "a bad container id": lambda: {"lives": {new_id(): life(pb.TABLE, "not an id", "x")}},
            "a taken name": lambda: {"lives": {new_id(): life(pb.TABLE, top, "T")}},
            "a container that is none": lambda: {"lives": {new_id(): life(pb.TABLE, table, "x")}},
            "an attribute of the dropped": lambda: {"attributes": {(dropped, Attribute.PROPERTIES): properties(1)}},
            "a life among the attributes": lambda: {"attributes": {(table, Attribute.LIFE): life(pb.TABLE, top, "x")}},
            "data among the attributes": lambda: {"attributes": {(table, Attribute.DATA): pb.TableHistory()}},
            "a record of another attribute": lambda: {"attributes": {(table, Attribute.SPEC): pb.TableSchema()}},
            "a record that is none": lambda: {"attributes": {(table, Attribute.SPEC): pb.Column()}},
            "an old base": lambda: {"attributes": {(table, Attribute.PROPERTIES): properties(2)}, "base": base},
            "two deltas for a partition": lambda: {"data": (appending(table), appending(table))},
            "a delta that is none": lambda: {"data": (DataChange(table, root_partition(table), wrong),)},
            "no ids at all": lambda: {"data": (DataChange(table, root_partition(table), wrong, {"row": 0}),)},
            "a bad table id": lambda: {"data": (DataChange("not an id", root_partition(table), wrong),)},
            "a bad operation": lambda: {"operations": (Operation("no such operation", table),)},
            "a bad id that was read": lambda: {"reads": (AttributeRead("not an id", Attribute.LIFE),)},
            "a bad id of a body": lambda: {"bodies": {("not an id", "schema", 1): b""}},
            "a bad id of a parent": lambda: {"parents": (LineAt("not an id", base),)},
            "a bad id in an operation": lambda: {"operations": (Operation("insert", "not an id"),)},
            "a message that is not Unicode": lambda: {"message": "\ud800"},
            "an author who is not Unicode": lambda: {"author": "\ud800"},
            "a count beyond 64 bits": lambda: {"operations": (Operation("insert", table, counts={"rows": 2**63}),)},
        }
        parts = bad[what]()
        parts["lives"] = {good: life(pb.TABLE, namespace, "good"), **parts.get("lives", {})}
        with pytest.raises(LakebedError) as caught:
            writer.commit(**parts)
        assert caught.value.kind in {"invalid", "not_found", "already_exists", "conflict"}
        assert metastore.newest() == newest
        assert picture(writer.reader(), ids, names) == before

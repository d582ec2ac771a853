"""Feeds applied to the rows of a table, as whoever follows one does, and random histories to feed from."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pyarrow
import pyarrow as pa

from lakebed import Catalog, Schema, Table
from lakebed.errors import Conflict, Invalid

FEED = ("_change_type", "_commit_version", "_commit_timestamp", "_row_id")
Rows = dict[int, tuple[Any, ...]]
Event = tuple[str, int, tuple[Any, ...]]


def state_of(table: Table[Any], newest: Schema) -> Rows:
    """The rows of a table by their ids, in the columns of a newer schema."""
    names = table.schema.names
    found = table.scan(columns=[*names, "_row_id"]).to_arrow().to_pylist()
    places = {field.id: field.name for field in table.schema.fields}
    return {
        row["_row_id"]: tuple(
            row[places[field.id]] if field.id in places else field.initial_default for field in newest.fields
        )
        for row in found
    }


def events_of(rows: pyarrow.Table) -> list[Event]:
    """A feed's rows as type, row id and values."""
    return [
        (row["_change_type"], row["_row_id"], tuple(value for name, value in row.items() if name not in FEED))
        for row in rows.to_pylist()
    ]


def applied(state: Rows, events: Iterable[Event]) -> Rows:
    """The state after a feed; what goes has to be there, and what comes must not."""
    after = dict(state)
    for kind, row, values in events:
        if kind in ("delete", "update_preimage"):
            assert after.pop(row) == values, (kind, row)
        else:
            assert row not in after, (kind, row)
            after[row] = values
    return after


def net_of(events: Iterable[Event]) -> list[Event]:
    """Events as Spark nets them: first and last of each row; a row that ends as it began did not change."""
    by_row: dict[int, list[tuple[str, Any]]] = defaultdict(list)
    for kind, row, values in events:
        by_row[row].append((kind, values))
    net: list[Event] = []
    for row, found in sorted(by_row.items()):
        (first, before), (last, after) = found[0], found[-1]
        existed, exists = first in ("delete", "update_preimage"), last in ("insert", "update_postimage")
        if existed and exists:
            net += [("update_preimage", row, before), ("update_postimage", row, after)] if before != after else []
        elif existed or exists:
            net.append(("delete", row, before) if existed else ("insert", row, after))
    return net


STEPS = (
    *("append", "append", "delete", "update", "update", "upsert", "overwrite", "truncate", "compact", "compact"),
    *("column", "rename", "widen", "spec", "rewrite rows", "vectors", "inline", "files", "checkpoint"),
    *("merge", "disputed merge", "pick", "revert", "restore", "transaction"),
)


class History:
    """A table with a random past, whose versions are remembered."""

    def __init__(self, main: Catalog, steps: Iterable[tuple[str, int]]) -> None:
        main.create_namespace("s")
        self.main, self.count = main, 0
        self.table = main.create_table("s.t", {"id": "int", "kind": "int", "name": "string"}, primary_key=["id"])
        self.versions = [main.version]
        self.step("append", 1)
        for name, number in steps:
            self.step(name, number)

    def on_branch(self, name: str) -> "History":
        """The same table on a new branch, whose past goes on by itself."""
        there = History.__new__(History)
        there.main, there.count = self.main.create_branch(name), self.count + 50
        there.table, there.versions = there.main.table("s.t"), [there.main.version]
        return there

    def step(self, name: str, number: int) -> None:
        self.count += 1
        getattr(self, f"do_{name.replace(' ', '_')}")(number)
        self.versions.append(self.main.version)

    def some(self, first: int, count: int) -> pyarrow.Table:
        values = list(range(first, first + count))
        kinds = [value % 3 for value in values]
        names = [f"{self.count} {value}" for value in values]
        return pa.table([pa.array(values, pa.int32()), pa.array(kinds, pa.int32()), names], self.table.schema.names[:3])

    @property
    def key(self) -> str:
        return self.table.schema.names[0]

    def do_append(self, number: int) -> None:
        self.table.append(self.some(self.count * 100, number + 1))

    def do_delete(self, number: int) -> None:
        self.table.delete(f"{self.key} % 7 = {number % 7}")

    def do_update(self, number: int) -> None:
        self.table.update({"name": f"'updated {self.count}'"}, f"{self.key} % 5 = {number % 5}")

    def do_upsert(self, number: int) -> None:
        self.table.upsert(self.some(100 + number, 6), on=self.key)

    def do_overwrite(self, number: int) -> None:
        rows = self.some(self.count * 100, 9)
        self.table.overwrite(rows.filter(pa.compute.equal(rows[1], number % 3)), where=f"kind = {number % 3}")

    def do_truncate(self, number: int) -> None:
        if number == 0:
            self.table.truncate()

    def do_compact(self, _: int) -> None:
        self.table.compact()

    def do_column(self, number: int) -> None:
        with self.table.evolve() as change:
            change.add_column(f"c{self.count}", "double", default=[None, 1.5][number % 2])

    def do_rename(self, _: int) -> None:
        with self.table.evolve() as change:
            change.rename_column(self.key, f"id{self.count}")

    def do_widen(self, _: int) -> None:
        with self.table.evolve() as change:
            change.widen_column(self.key, "long")

    def do_spec(self, number: int) -> None:
        with self.table.evolve() as change:
            change.partition_by([[], [f"bucket(2, {self.key})"], ["kind"]][number % 3])

    def do_rewrite_rows(self, _: int) -> None:
        self.table.set_properties({"write.row-changes": "copy-on-write"})

    def do_vectors(self, _: int) -> None:
        self.table.set_properties({"write.row-changes": "merge-on-read"})

    def do_inline(self, _: int) -> None:
        self.table.set_properties({"write.inline-bytes": "64000"})

    def do_files(self, _: int) -> None:
        self.table.set_properties({"write.inline-bytes": "0"})

    def do_checkpoint(self, _: int) -> None:
        self.table.checkpoint()

    def do_transaction(self, number: int) -> None:
        with self.main.transaction("several") as open_transaction:
            table = open_transaction.table("s.t")
            table.append(self.some(self.count * 100, 4))
            table.update({"name": "'twice'"}, f"{self.key} % 4 = {number % 4}")
            table.delete(f"{self.key} % 6 = {number % 6}")

    def _branch(self) -> Catalog:
        return self.main.create_branch(f"b{self.count}")

    def do_merge(self, number: int) -> None:
        branch = self._branch()
        branch.table("s.t").append(self.some(self.count * 100, 5))
        branch.table("s.t").compact()
        self.do_delete(number)
        self.main.merge(branch, strategy="ours")

    def do_disputed_merge(self, number: int) -> None:
        """Both sides change the same rows, perhaps in commits of the same number."""
        branch = self._branch()
        branch.table("s.t").update({"name": f"'branch {self.count}'"}, f"{self.key} % 5 = {number % 5}")
        self.do_update(number)
        self.main.merge(branch, strategy="theirs")

    def do_pick(self, number: int) -> None:
        branch = self._branch()
        branch.table("s.t").append(self.some(self.count * 100, 3))
        self.do_update(number)
        self.main.cherry_pick(branch.log(1)[0])

    def do_revert(self, _: int) -> None:
        newest = self.table.history()[0]
        if newest.operations[0].type in ("compact", "delete", "insert", "update"):
            try:
                self.main.revert(newest)
            except (Conflict, Invalid):  # what a revert can't do is not this test's
                return

    def do_restore(self, number: int) -> None:
        self.main.restore_table("s.t", self.versions[-1 - number % len(self.versions)])

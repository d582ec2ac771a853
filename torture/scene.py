"""A small lake with something of everything, what can be seen of it, and calls that change it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lakebed
from lakebed.catalog.transaction import pending_delta
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from torture.configuration import Configuration
from torture.histories.deeds import SCHEMA, arrow_rows

Picture = Mapping[Any, Any]


def build(folder: Path, how: Configuration) -> None:
    """Make the lake: inline rows, files, deletion vectors, a checkpoint, a branch, a tag, a view, a share."""
    with lakebed.connect(folder, author="scene") as lake:
        main = lake.catalog()
        main.create_namespace("n")
        orders = _table(main, "n.orders", how)
        for first in range(0, 40, 10):
            orders.append(_rows(range(first, first + 10)))
        orders.delete("id % 4 = 1")
        orders.update({"v": "v + 1000"}, "id % 5 = 2")
        orders.checkpoint()
        orders.append(_rows(range(100, 104)))
        orders.delete("id = 101")
        _table(main, "other", how)
        items = _table(main, "items", how)
        items.append(_rows(range(6)))
        with items.evolve() as change:
            change.add_column("note", "string", default="none")
        items.set_properties({"owner": "ada"})
        main.create_view("n.few", "select * from n.orders where id < 3")
        _table(main, "gone", how).append(_rows(range(3)))
        main.drop_table("gone")
        dev = main.create_branch("dev")
        dev.table("items").append(_rows(range(50, 53)))
        dev.table("n.orders").delete("id = 3")
        main.create_tag("first")
        main.create_share("all", ["n"])
        many = _table(main, "many", how)
        with manifests_beside():
            many.append(_rows(range(8)))
            many.delete("id = 7")


class manifests_beside:
    """Meanwhile every manifest is a file beside the catalog, as those of large commits are."""

    def __enter__(self) -> None:
        self._before = pending_delta.INLINE_BYTES
        pending_delta.INLINE_BYTES = 0

    def __exit__(self, *_: object) -> None:
        pending_delta.INLINE_BYTES = self._before


def _table(line: Catalog, name: str, how: Configuration) -> Any:
    return line.create_table(name, SCHEMA, primary_key=["id"], partition_by=how.partition_by, properties=how.properties)


def _rows(ids: range) -> Any:
    return arrow_rows((id, id * 10) for id in ids)


def picture(lake: Lake) -> Picture:
    """All that can be seen of a lake, without ids, times and what `other` has; some of the past too."""
    seen: dict[str, Any] = {}
    main = lake.catalog()
    for line in main.branches():
        seen[line.ref] = _line(line)
    seen["tags"] = {tag.ref: _line(tag) for tag in main.tags()}
    seen["shares"] = {share.ref: _line(share) for share in main.shares()}
    seen["dropped"] = sorted(str(one.name) for one in main.dropped())
    return seen


def _line(line: Catalog) -> dict[str, Any]:
    tables = {str(one.name): one for one in line.tables(recursive=True)}
    tables.pop("other", None)
    views = {str(one.name): one.sql for one in line.views(recursive=True)}
    names = sorted(str(one.name) for one in line.namespaces(recursive=True))
    return {"namespaces": names, "views": views, **{name: _shown(table) for name, table in tables.items()}}


def _shown(table: Any) -> tuple[Any, ...]:
    rows = sorted(map(repr, table.scan().to_arrow().to_pylist()))
    own = {key: value for key, value in table.properties.items() if not key.startswith(("write.", "checkpoint."))}
    return rows, table.scan("id % 3 = 0").count(), table.schema.names, own, [one.operation for one in table.snapshots()]


def past(lake: Lake) -> Picture:
    """The rows of tables at every version of the trunk."""
    main = lake.catalog()
    found = {}
    for commit in main.log():
        at = main.at(version=commit.version)
        tables = {str(one.name): one for one in at.tables(recursive=True)}
        found[int(commit.version)] = {
            name: sorted(map(repr, table.scan().to_arrow().to_pylist())) for name, table in tables.items()
        }
    return found


Change = Callable[[Lake, str], Any]
"""A call on the lake of `build`, with an event id."""


def _load(lake: Lake, event: str) -> Any:
    with lake.catalog().transaction("load", event_id=event) as tx:
        tx.table("n.orders").append(arrow_rows([(200, 1), (201, 2)]))
        tx.table("n.orders").delete("id = 2")
        tx.table("items").upsert(arrow_rows([(1, 77), (300, 77)]))
    return tx.committed


def _evolve(lake: Lake, event: str) -> Any:
    with lake.catalog().table("items").evolve(event_id=event) as change:
        change.rename_column("note", "remark")
        change.add_column("size", "int")
    return change.committed


def _main(call: Callable[[Catalog, str], Any]) -> Change:
    return lambda lake, event: call(lake.catalog(), event)


def _on(table: str, call: Callable[[Any, str], Any]) -> Change:
    return lambda lake, event: call(lake.catalog().table(table), event)


CHANGES: dict[str, Change] = {
    "append": _on("n.orders", lambda one, event: one.append(_rows(range(500, 505)), event_id=event)),
    "upsert": _on("n.orders", lambda one, event: one.upsert(arrow_rows([(3, 9), (501, 9)]), event_id=event)),
    "update": _on("n.orders", lambda one, event: one.update({"v": "v + 7"}, "id % 3 = 0", event_id=event)),
    "delete": _on("n.orders", lambda one, event: one.delete("id % 3 = 0", event_id=event)),
    "overwrite": _on("n.orders", lambda one, event: one.overwrite(_rows(range(600, 602)), "id < 9", event_id=event)),
    "truncate": _on("items", lambda one, event: one.truncate(event_id=event)),
    "compact": _on("n.orders", lambda one, event: one.compact(event_id=event)),
    "set properties": _on("items", lambda one, event: one.set_properties({"owner": "bob"}, event_id=event)),
    "rename": _on("items", lambda one, event: one.rename("n.things", event_id=event)),
    "evolve": _evolve,
    "transaction": _load,
    "create": _main(lambda main, event: main.create_table("made", SCHEMA, event_id=event)),
    "create with rows": _main(lambda main, event: main.create_table("made", _rows(range(4)), event_id=event)),
    "drop": _main(lambda main, event: main.drop_table("items", event_id=event)),
    "undrop": _main(lambda main, event: main.undrop_table("gone", event_id=event)),
    "drop namespace": _main(lambda main, event: main.drop_namespace("n", cascade=True, event_id=event)),
    "branch": _main(lambda main, event: main.create_branch("new", event_id=event)),
    "drop branch": _main(lambda main, event: main.drop_branch("dev", event_id=event)),
    "tag": _main(lambda main, event: main.create_tag("second", event_id=event)),
    "merge": _main(lambda main, event: main.merge(main.branch("dev"), event_id=event)),
    "revert": _main(lambda main, event: main.revert(main.log(table="items")[0], event_id=event)),
    "restore": _main(
        lambda main, event: main.restore_table("n.orders", main.table("n.orders").history()[-2].version, event_id=event)
    ),
    "view": _main(lambda main, event: main.create_view("n.more", "select 1", event_id=event)),
}

UPKEEP: Mapping[str, Change] = {
    "checkpoint": _on("n.orders", lambda one, _: one.checkpoint()),
    "backup": lambda lake, _: lake.backup(f"{lake_folder(lake)}-backup"),
    "read": lambda lake, _: picture(lake),
}
"""Calls that change nothing that can be seen."""


def lake_folder(lake: Lake) -> str:
    return str(lake._context.files.root)  # type: ignore[attr-defined]

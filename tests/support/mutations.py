"""Every call that changes something, on a small lake: what is promised of all of them is tested on all of them."""

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

import lakebed.lake
from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.catalog import Catalog
from lakebed.lake.clauses import when_matched_delete, when_not_matched_insert
from lakebed.lake.lake import Lake
from lakebed.lake.merging.progress import MergeInProgress
from lakebed.lake.namespace import Namespace
from lakebed.lake.partition import Partition
from lakebed.lake.table import Stream, Table
from lakebed.lake.view import View
from lakebed.records import layout
from lakebed.store import Store, Version

DISCARDED = "00000000-0000-4000-8000-00000000d15c"
"""The id of a staged stream that was discarded."""


class Held(NamedTuple):
    """A small lake, and handles of what is in it."""

    lake: Lake
    main: Catalog
    dev: Catalog
    empty: Namespace
    orders: Table
    parted: Table
    days: Table
    day: Partition
    staged: Partition
    stream: Stream
    recent: View
    stranger: str
    born: Version
    picked: Commit
    filled: Commit


def grown(lake: Lake) -> Held:
    """Something of every kind, alive and dropped, and a branch with changes of its own."""
    main = lake.catalog()
    main.create_namespace("sales")
    orders = main.create_table("sales.orders", {"id": "long"}, properties={"old": "1"})
    born = main.version
    filled = orders.append(numbers(1))
    orders.consumer("old").advance(born)
    parted = main.create_table("sales.parted", {"id": "long"}, partition_by=["truncate(10, id)"])
    parted.append(numbers(1, 20))
    days = main.create_table("sales.days", {"id": "long", "day": "string"}, partition_by=["day"])
    day = days.create_partition({"day": "mon"}, properties={"old": "1"})
    day.append(numbers(1))
    staged = days.stage_partition({"day": "tue"})
    staged.append(numbers(2))
    days.create_partition({"day": "sun"}).append(numbers(3))
    days.drop_partition({"day": "sun"})
    for edition in ("2", "gone"):
        parted.create_edition(edition)
    parted.drop_edition("gone")
    stream = parted.stage_stream()
    stream.append(numbers(4))
    discarded = parted.stage_stream(DISCARDED)
    discarded.append(numbers(6))
    discarded.discard()
    recent = main.create_view("sales.recent", "select 1", properties={"old": "1"})
    empty = main.create_namespace("empty")
    for name in ("sales.gone", "sales.spare"):
        main.create_table(name, {"id": "long"})
        main.drop_table(name)
        main.create_view(f"{name}_view", "select 1")
        main.drop_view(f"{name}_view")
        main.create_namespace(f"{name}_namespace")
        main.drop_namespace(f"{name}_namespace")
    dev = main.create_branch("dev")
    picked = dev.table("sales.orders").append(numbers(5))
    assert filled is not None
    assert picked is not None
    for number in ("one", "gone"):
        main.create_branch(f"{number}_branch")
        main.create_tag(f"{number}_tag", at=filled.version)
        main.create_share(f"{number}_share", ["sales.orders"])
        lake.create_catalog(f"{number}_catalog")
    main.drop_branch("gone_branch")
    main.drop_tag("gone_tag")
    main.drop_share("gone_share")
    lake.drop_catalog("gone_catalog")
    keep_merge(lake, "disputed")
    keep_merge(lake, "decided").decide(lambda conflict: "ours")
    parts = days, day, staged, stream
    return Held(lake, main, dev, empty, orders, parted, *parts, recent, strangers_file(lake), born, picked, filled)


def keep_merge(lake: Lake, name: str) -> MergeInProgress:
    """A catalog with a merge in progress, of one conflict."""
    main = lake.create_catalog(name)
    dev = main.create_branch("dev")
    for line, value in ((main, "ours"), (dev, "theirs")):
        line.set_properties({"k": value})
    assert main.merge(dev, keep_conflicts=True).in_progress
    return main.merge_in_progress()


def numbers(*ids: int) -> pyarrow.Table:
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def strangers_file(lake: Lake) -> str:
    """A Parquet file that no table has."""
    path = Path(lake._context.files.location("strangers/numbers.parquet").removeprefix("file://"))
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(numbers(8, 9), path)
    return str(path)


def load(main: Catalog, **told: Any) -> Commit | None:
    with main.transaction("load", **told) as tx:
        tx.table("sales.orders").append(numbers(2))
        tx.create_table("sales.items", {"id": "long"}).append(numbers(3))
        tx.rename_namespace("empty", "full")
    return tx.committed


def evolve(table: Table, **told: Any) -> Commit | None:
    with table.evolve(**told) as change:
        change.add_column("price", "decimal(10, 2)", default=None)
        change.rename_column("id", "order_id")
        change.partition_by(["bucket(4, order_id)"])
        change.sort_by(["order_id"])
    return change.committed


Call = Callable[..., Any]

CALLS: dict[str, Call] = {
    "create_catalog": lambda held, **told: held.lake.create_catalog("second", **told),
    "rename_catalog": lambda held, **told: held.lake.rename_catalog("one_catalog", "second", **told),
    "drop_catalog": lambda held, **told: held.lake.drop_catalog("one_catalog", **told),
    "undrop_catalog": lambda held, **told: held.lake.undrop_catalog("gone_catalog", **told),
    "purge_catalog": lambda held, **told: held.lake.purge_catalog("gone_catalog", **told),
    "create_branch": lambda held, **told: held.main.create_branch("new", **told),
    "create_branch at": lambda held, **told: held.main.create_branch("new", held.filled.version, **told),
    "rename_branch": lambda held, **told: held.main.rename_branch("one_branch", "new", **told),
    "drop_branch": lambda held, **told: held.main.drop_branch("one_branch", **told),
    "undrop_branch": lambda held, **told: held.main.undrop_branch("gone_branch", **told),
    "purge_branch": lambda held, **told: held.main.purge_branch("gone_branch", **told),
    "create_tag": lambda held, **told: held.main.create_tag("new", **told),
    "rename_tag": lambda held, **told: held.main.rename_tag("one_tag", "new", **told),
    "drop_tag": lambda held, **told: held.main.drop_tag("one_tag", **told),
    "undrop_tag": lambda held, **told: held.main.undrop_tag("gone_tag", **told),
    "purge_tag": lambda held, **told: held.main.purge_tag("gone_tag", **told),
    "create_share": lambda held, **told: held.main.create_share("new", ["sales.orders", "empty"], **told),
    "rename_share": lambda held, **told: held.main.rename_share("one_share", "new", **told),
    "grant_share": lambda held, **told: held.main.grant_share("one_share", ["empty"], **told),
    "revoke_share": lambda held, **told: held.main.revoke_share("one_share", ["sales.orders"], **told),
    "drop_share": lambda held, **told: held.main.drop_share("one_share", **told),
    "undrop_share": lambda held, **told: held.main.undrop_share("gone_share", **told),
    "purge_share": lambda held, **told: held.main.purge_share("gone_share", **told),
    "create_namespace": lambda held, **told: held.main.create_namespace("n", properties={"b": "2", "a": "1"}, **told),
    "create_namespace with a place": lambda held, **told: held.main.create_namespace(
        "n", location="elsewhere", owner="grace", comment="c", **told
    ),
    "rename_namespace": lambda held, **told: held.main.rename_namespace("empty", "sales.full", **told),
    "drop_namespace": lambda held, **told: held.main.drop_namespace("empty", **told),
    "drop_namespace cascade": lambda held, **told: held.main.drop_namespace("sales", cascade=True, **told),
    "undrop_namespace": lambda held, **told: held.main.undrop_namespace("sales.gone_namespace", **told),
    "create_table": lambda held, **told: held.main.create_table("sales.new", {"id": "long"}, comment="c", **told),
    "create_table with a layout": lambda held, **told: held.main.create_table(
        "sales.new", {"id": "long"}, partition_by=["bucket(4, id)"], sort_by=["id"], primary_key=["id"], **told
    ),
    "create_or_replace_table": lambda held, **told: held.main.create_or_replace_table(
        "sales.orders", {"number": "int"}, **told
    ),
    "rename_table": lambda held, **told: held.main.rename_table("sales.orders", "empty.orders", **told),
    "drop_table": lambda held, **told: held.main.drop_table("sales.orders", **told),
    "undrop_table": lambda held, **told: held.main.undrop_table("sales.gone", **told),
    "undrop_table as": lambda held, **told: held.main.undrop_table("sales.gone", as_name="empty.back", **told),
    "restore_table": lambda held, **told: held.main.restore_table("sales.orders", held.filled.version, **told),
    "create_view": lambda held, **told: held.main.create_view("sales.new", "select 2", comment="c", **told),
    "create_view of columns": lambda held, **told: held.main.create_view(
        "sales.new", "select 2 as n", schema={"n": "int"}, **told
    ),
    "create_or_replace_view": lambda held, **told: held.main.create_or_replace_view("sales.recent", "select 4", **told),
    "rename_view": lambda held, **told: held.main.rename_view("sales.recent", "empty.recent", **told),
    "drop_view": lambda held, **told: held.main.drop_view("sales.recent", **told),
    "undrop_view": lambda held, **told: held.main.undrop_view("sales.gone_view", **told),
    "merge": lambda held, **told: held.main.merge(held.dev, **told),
    "cherry_pick": lambda held, **told: held.main.cherry_pick(held.picked, **told),
    "revert": lambda held, **told: held.main.revert(held.filled, **told),
    "reset": lambda held, **told: held.main.reset(held.filled.version, **told),
    "set_properties": lambda held, **told: held.main.set_properties({"k": "v"}, **told),
    "unset_properties": lambda held, **told: held.main.unset_properties(["k"], **told),
    "set_comment": lambda held, **told: held.main.set_comment("a catalog", **told),
    "namespace.set_comment": lambda held, **told: held.empty.set_comment("a namespace", **told),
    "namespace.set_location": lambda held, **told: held.empty.set_location("elsewhere", **told),
    "namespace.set_owner": lambda held, **told: held.empty.set_owner("grace", **told),
    "namespace.set_properties": lambda held, **told: held.empty.set_properties({"k": "v"}, **told),
    "namespace.unset_properties": lambda held, **told: held.empty.unset_properties("k", **told),
    "namespace.rename": lambda held, **told: held.empty.rename("sales.full", **told),
    "table.append": lambda held, **told: held.orders.append(numbers(2), **told),
    "table.append nothing": lambda held, **told: held.orders.append(numbers(), **told),
    "table.add_files": lambda held, **told: held.orders.add_files(held.stranger, **told),
    "table.delete": lambda held, **told: held.orders.delete("id = 1", **told),
    "table.delete nothing": lambda held, **told: held.orders.delete("id = 99", **told),
    "table.truncate": lambda held, **told: held.orders.truncate(**told),
    "table.update": lambda held, **told: held.orders.update({"id": "id + 10"}, where="id = 1", **told),
    "table.upsert": lambda held, **told: held.orders.upsert(numbers(1, 2), on="id", **told),
    "table.merge": lambda held, **told: held.orders.merge(
        numbers(1, 2), "id", when_matched_delete(), when_not_matched_insert(), **told
    ),
    "table.overwrite": lambda held, **told: held.orders.overwrite(numbers(7), where="id = 1", **told),
    "table.overwrite_partitions": lambda held, **told: held.parted.overwrite_partitions(numbers(3), **told),
    "table.restore": lambda held, **told: held.orders.restore(held.born, **told),
    "table.compact": lambda held, **told: held.orders.compact(**told),
    "table.rename": lambda held, **told: held.orders.rename("sales.renamed", **told),
    "table.set_comment": lambda held, **told: held.orders.set_comment("a table", **told),
    "table.set_properties": lambda held, **told: held.orders.set_properties({"k": "v"}, **told),
    "table.set_storage": lambda held, **told: held.orders.set_storage(location="hot", owner="grace", **told),
    "table.set_storage of Hive": lambda held, **told: held.orders.set_storage(
        file_format="parquet",
        input_format="parquet.hive.DeprecatedParquetInputFormat",
        output_format="parquet.hive.DeprecatedParquetOutputFormat",
        serde="parquet.hive.serde.ParquetHiveSerDe",
        properties={"serialization.format": "1"},
        **told,
    ),
    "table.unset_properties": lambda held, **told: held.orders.unset_properties(["old"], **told),
    "table.evolve": lambda held, **told: evolve(held.orders, **told),
    "table.create_partition": lambda held, **told: held.days.create_partition({"day": "wed"}, **told),
    "table.stage_partition": lambda held, **told: held.days.stage_partition({"day": "mon"}, **told),
    "table.drop_partition": lambda held, **told: held.days.drop_partition({"day": "mon"}, **told),
    "table.undrop_partition": lambda held, **told: held.days.undrop_partition({"day": "sun"}, **told),
    "partition.append": lambda held, **told: held.staged.append(numbers(5), **told),
    "partition.add_files": lambda held, **told: held.staged.add_files(held.stranger, **told),
    "partition.overwrite": lambda held, **told: held.staged.overwrite(numbers(5), **told),
    "partition.delete": lambda held, **told: held.staged.delete("id = 2", **told),
    "partition.commit": lambda held, **told: held.staged.commit(**told),
    "partition.discard": lambda held, **told: held.staged.discard(**told),
    "partition.append to one that is shown": lambda held, **told: held.day.append(numbers(5), **told),
    "partition.overwrite of one that is shown": lambda held, **told: held.day.overwrite(numbers(5), **told),
    "partition.alter": lambda held, **told: held.day.alter(location=str(Path(held.stranger).parent), **told),
    "partition.rename": lambda held, **told: held.day.rename({"day": "fri"}, **told),
    "partition.drop": lambda held, **told: held.day.drop(**told),
    "partition.set_properties": lambda held, **told: held.day.set_properties({"k": "v"}, **told),
    "partition.unset_properties": lambda held, **told: held.day.unset_properties(["old"], **told),
    "table.create_edition": lambda held, **told: held.parted.create_edition("3", {"id": "long"}, **told),
    "table.activate": lambda held, **told: held.parted.activate("2", **told),
    "table.set_edition_state": lambda held, **told: held.parted.set_edition_state("2", "beta", **told),
    "table.drop_edition": lambda held, **told: held.parted.drop_edition("2", **told),
    "table.undrop_edition": lambda held, **told: held.parted.undrop_edition("gone", **told),
    "table.stage_stream": lambda held, **told: held.parted.stage_stream(**told),
    "table.undrop_stream": lambda held, **told: held.parted.undrop_stream(DISCARDED, **told),
    "consumer.advance": lambda held, **told: held.orders.consumer("billing").advance(held.filled.version, **told),
    "mergeinprogress.decide": lambda held, **told: (
        held.lake.catalog("disputed").merge_in_progress().decide(lambda conflict: "ours", **told)
    ),
    "mergeinprogress.finish": lambda held, **told: held.lake.catalog("decided").merge_in_progress().finish(**told),
    "mergeinprogress.abandon": lambda held, **told: held.lake.catalog("disputed").merge_in_progress().abandon(**told),
    "consumer.reset": lambda held, **told: held.orders.consumer("old").reset(**told),
    "stream.commit": lambda held, **told: held.stream.commit(**told),
    "stream.discard": lambda held, **told: held.stream.discard(**told),
    "view.rename": lambda held, **told: held.recent.rename("sales.renamed", **told),
    "view.set_sql": lambda held, **told: held.recent.set_sql({"spark": "select 3", "trino": "select 3"}, **told),
    "view.set_properties": lambda held, **told: held.recent.set_properties({"k": "v"}, **told),
    "view.set_comment": lambda held, **told: held.recent.set_comment("a view", **told),
    "view.unset_properties": lambda held, **told: held.recent.unset_properties(["old"], **told),
    "run": lambda held, **told: held.lake.run(lambda tx: tx.set_properties({"k": "v"}), **told),
    "transaction": lambda held, **told: load(held.main, **told),
}

PURGES: dict[str, Call] = {
    "purge_namespace": lambda held, **told: held.main.purge_namespace("sales.gone_namespace", **told),
    "purge_table": lambda held, **told: held.main.purge_table("sales.gone", **told),
    "purge_view": lambda held, **told: held.main.purge_view("sales.gone_view", **told),
}
"""These are refused while a branch has what they purge: give them a lake without the branches."""


def without_branches(held: Held) -> Held:
    """The lake with one line and no tags, so that what was dropped can be purged."""
    for branch in ("dev", "one_branch"):
        held.main.drop_branch(branch)
    held.main.drop_tag("one_tag")
    for branch in ("dev", "one_branch", "gone_branch"):
        held.main.purge_branch(branch)
    for tag in ("one_tag", "gone_tag"):
        held.main.purge_tag(tag)
    return held


def handles() -> set[type]:
    """The classes of `lakebed.lake` with a public call that takes an event id; of classes that inherit, the last."""
    modules = [import_module(module.name) for module in walk_packages(lakebed.lake.__path__, "lakebed.lake.")]
    found = {one for module in modules for one in vars(module).values() if inspect.isclass(one)}
    classes = {one for one in found if not getattr(one, "_is_protocol", False)}  # a shape of handles is not a handle
    changing = {one for one in classes if one.__module__.startswith("lakebed.lake") and mutating_calls(one)}
    return {one for one in changing if not any(other is not one and issubclass(other, one) for other in changing)}


def mutating_calls(handle: type) -> set[str]:
    """The public calls of a handle that commit: a call that does takes an event id, so that it can come again."""
    return {name for name, call in public_calls(handle).items() if "event_id" in inspect.signature(call).parameters}


def public_calls(handle: type) -> dict[str, Call]:
    return {name: call for name, call in inspect.getmembers(handle, inspect.isfunction) if not name.startswith("_")}


def commit_count(store: Store) -> int:
    """How many commits a lake has, on whatever lines."""
    prefix = layout.commit_key("00000000-0000-0000-0000-000000000000")[:-16]
    wanted = layout.prefix_range(prefix)
    return store.read(lambda transaction: len(transaction.snapshot.get_range(wanted).entries))

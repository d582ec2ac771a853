"""Lakes that hold many tables, written quickly and seen through the handles."""

from collections.abc import Sequence
from pathlib import Path

import lakebed
from bench.one_row import ROW
from lakebed.catalog.refs import catalogs
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.lake.lake import DATABASE
from lakebed.metastore import Change, Operation, RecordsMetastore, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.store import SQLiteStore

NAMESPACE = "sales"
WHOLE = [f"{NAMESPACE}.whole_{number:02}" for number in range(10)]
"""The tables of every filled lake that have all that tables have; the others have a name and a place."""

PER_COMMIT = 2_000
WARM_UP = 400  # commits: past the first wrap of the WAL


def open_filled(folder: Path, tables: int) -> lakebed.Lake:
    """A lake that has this many tables in one namespace; those that are only a name came last, 2,000 at once."""
    files = LocalFiles(folder)
    metastore = RecordsMetastore(SQLiteStore(f"{files.root}/{DATABASE}"))
    context = Context(metastore, files, Bodies(metastore), catalogs.open_project(metastore, catalogs.DEFAULT, "bench"))
    lake = lakebed.Lake(context)
    main = lake.catalog()
    namespace = main.create_namespace(NAMESPACE)
    for name in WHOLE:
        main.create_table(name, ROW.schema)
    names = [named(number) for number in range(tables - len(WHOLE))]
    for start in range(0, len(names), PER_COMMIT):
        _create(context, namespace.id, names[start : start + PER_COMMIT])
    return lake


def warm(lake: lakebed.Lake) -> None:
    """Make small commits, which the log then shows first."""
    namespace = lake.catalog().namespace(NAMESPACE)
    for number in range(WARM_UP):
        namespace.set_properties({"comment": f"change {number}"})


def named(number: int) -> str:
    """What a table that is a name and a place is called."""
    return f"table_{number:06}"


def _create(context: Context, namespace: str, names: Sequence[str]) -> None:
    """A sixth of what whole tables would take: 100,000 of those would be two minutes."""
    ids = {name: new_id() for name in names}
    change = Change(
        event_id=new_id(),
        line=catalogs.find_catalog(context, catalogs.DEFAULT).line,
        base=context.metastore.newest(),
        project=context.project,
        operations=tuple(Operation("create", ids[name], f"{NAMESPACE}.{name}") for name in names),
        lives={ids[name]: life(pb.TABLE, namespace, name) for name in names},
    )
    context.metastore.commit(change)

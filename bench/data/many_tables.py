"""Lakes with many tables, written quickly and used through the public API."""

from collections.abc import Sequence
from pathlib import Path

import lakebed
from bench.data.one_row import ROW
from lakebed.catalog.refs import catalogs
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.lake.lake import DATABASE
from lakebed.metastore import Change, Operation, RecordsMetastore, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.store import SQLiteStore

NAMESPACE = "sales"
COMPLETE_TABLES = [f"{NAMESPACE}.whole_{number:02}" for number in range(10)]
"""The complete tables of every such lake; the others consist of a life only."""

PER_COMMIT = 2_000
WARM_UP = 400  # commits: past the first wrap of the WAL


def open_lake(folder: Path, tables: int) -> lakebed.Lake:
    """A lake with this many tables in one namespace; those without content come last, 2,000 in a commit."""
    files = LocalFiles(folder)
    metastore = RecordsMetastore(SQLiteStore(f"{files.root}/{DATABASE}"))
    context = Context(metastore, files, Bodies(metastore), catalogs.open_project(metastore, catalogs.DEFAULT, "bench"))
    lake = lakebed.Lake(context)
    main = lake.catalog()
    namespace = main.create_namespace(NAMESPACE)
    for name in COMPLETE_TABLES:
        main.create_table(name, ROW.schema)
    names = [table_name(number) for number in range(tables - len(COMPLETE_TABLES))]
    for start in range(0, len(names), PER_COMMIT):
        _create(context, namespace.id, names[start : start + PER_COMMIT])
    return lake


def warm(lake: lakebed.Lake) -> None:
    """Make small commits, which are then the newest in the log."""
    namespace = lake.catalog().namespace(NAMESPACE)
    for number in range(WARM_UP):
        namespace.set_properties({"comment": f"change {number}"})


def table_name(number: int) -> str:
    """The name of a table without content."""
    return f"table_{number:06}"


def _create(context: Context, namespace: str, names: Sequence[str]) -> None:
    """Create tables without content, in a sixth of the time: 100,000 complete tables would take two minutes."""
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

"""SHOW: what is there, as DataFrames with Spark's names for their columns."""

import re
from collections.abc import Iterator

from pyspark.sql import DataFrame

from lakebed.catalog.objects.namespaces import find_namespace
from lakebed.catalog.objects.walk import objects_of_kind
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import children, name_of
from lakebed.errors import NotFound
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Line
from lakebed.lake.sql.objects.create_text import create_table_text, create_view_text
from lakebed.lake.sql.objects.describe import columns_of
from lakebed.lake.sql.objects.frames import FLAG, TEXT, TIME, WHOLE, frame
from lakebed.lake.sql.objects.places import (
    catalog_line,
    catalog_names,
    namespace_place,
    pointing,
    read_container,
    ref_line,
    shown_object,
)
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.metastore.kinds import NAMESPACE, TABLE, VIEW
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.show import (
    Listed,
    ShowColumns,
    ShowCreate,
    ShowLog,
    ShowObjects,
    ShowPartitions,
    ShowProperties,
    ShowRefs,
)

_KINDS = {Listed.TABLES: TABLE, Listed.VIEWS: VIEW, Listed.NAMESPACES: NAMESPACE}


def show_objects(execution: Execution, statement: ShowObjects) -> DataFrame:
    """The tables or views in a namespace, or everywhere if there is none; the namespaces in one, or at the top."""
    execution.check_unattributed()
    names = [parts for parts in _listed(execution, statement) if is_like(parts[-1], statement.pattern)]
    if statement.listed is Listed.NAMESPACES:
        return frame(execution.spark, {"namespace": TEXT}, [(spelled(parts),) for parts in names])
    name = "viewName" if statement.listed is Listed.VIEWS else "tableName"
    rows = [(spelled(parts[:-1]), parts[-1], False) for parts in names]
    return frame(execution.spark, {"namespace": TEXT, name: TEXT, "isTemporary": FLAG}, rows)


def _listed(execution: Execution, statement: ShowObjects) -> Iterator[tuple[str, ...]]:
    """The names of the objects, each by its parts. They are read by listings, and not object by object."""
    is_namespaces, kind = statement.listed is Listed.NAMESPACES, _KINDS[statement.listed]
    container, parts = read_container(execution), () if is_namespaces else execution.places.namespace
    if statement.inside is not None:
        container, parts = namespace_place(execution, statement.inside)
    work = container._scope.read()
    if not parts and not is_namespaces:
        yield from (named.parts for named in objects_of_kind(work, kind))
        return
    parent = find_namespace(work, parts) if parts else work.top
    own = name_of(work, parent) if parts else ()
    yield from ((*own, child.name) for child in children(work, parent, kind))


def show_refs(execution: Execution, statement: ShowRefs) -> DataFrame:
    """The branches and tags of a catalog with their newest versions, or the catalogs."""
    execution.check_unattributed()
    pattern = statement.pattern
    if statement.listed is Listed.CATALOGS:
        names = [(name,) for name in catalog_names(execution) if is_like(name, pattern)]
        return frame(execution.spark, {"catalog": TEXT}, names)
    line = catalog_line(execution, statement.catalog)
    branches = [] if statement.listed is Listed.TAGS else [("Branch", each) for each in line.branches()]
    tags = [] if statement.listed is Listed.BRANCHES else [("Tag", each) for each in line.tags()]
    rows = [(kind, each.ref, int(each.version)) for kind, each in [*branches, *tags] if is_like(each.ref, pattern)]
    return frame(execution.spark, {"refType": TEXT, "name": TEXT, "version": WHOLE}, rows)


def show_columns(execution: Execution, statement: ShowColumns) -> DataFrame:
    """The names of a table's or view's columns."""
    execution.check_unattributed()
    rows = [(name,) for name, _, _ in columns_of(execution, statement.table)]
    return frame(execution.spark, {"col_name": TEXT}, rows)


def show_create(execution: Execution, statement: ShowCreate) -> DataFrame:
    """The statement that creates a table or view as it is now, without its rows."""
    execution.check_unattributed()
    found = _found(execution, statement.table)
    text = create_table_text(found) if isinstance(found, Table) else create_view_text(found)
    return frame(execution.spark, {"createtab_stmt": TEXT}, [(text,)])


def show_properties(execution: Execution, statement: ShowProperties) -> DataFrame:
    """The properties of a table or view, or the one with a name."""
    execution.check_unattributed()
    properties, key = _found(execution, statement.table).properties, statement.key
    if key is None:
        rows = sorted(properties.items())
    else:
        rows = [(key, properties.get(key, f"Table {statement.table.spelled} does not have property: {key}"))]
    return frame(execution.spark, {"key": TEXT, "value": TEXT}, rows)


def show_partitions(execution: Execution, statement: ShowPartitions) -> DataFrame:
    """The explicit partitions of a table, as Hive's folders name them."""
    execution.check_unattributed()
    explicit = execution.table(statement.table).partitions()[1:]
    rows = [(str(each.name), each.id, each.location, each.count()) for each in explicit]
    return frame(execution.spark, {"partition": TEXT, "id": TEXT, "location": TEXT, "rows": WHOLE}, rows)


def show_log(execution: Execution, statement: ShowLog) -> DataFrame:
    """The commits of a line, newest first."""
    execution.check_unattributed()
    line: Line = catalog_line(execution, statement.catalog)
    if statement.ref is not None:
        line = ref_line(execution, line, f"@{statement.ref.text}", statement.ref.word)
    columns = {"version": WHOLE, "timestamp": TIME, "author": TEXT, "message": TEXT, "operations": TEXT}
    rows = []
    for commit in line.log(statement.limit):
        done = "; ".join(f"{each.type.replace('_', ' ')} {each.name}".rstrip() for each in commit.operations)
        rows.append((int(commit.version), commit.time, commit.author, commit.message, done))
    return frame(execution.spark, columns, rows)


def _found(execution: Execution, name: LakeName) -> Table | View:
    found = shown_object(execution, name)
    if found is None:
        with pointing(execution, name.word):
            raise NotFound("there is no such table or view in the lake", subject=name.spelled)
    return found


def is_like(name: str, pattern: str | None) -> bool:
    """Whether a name is like a pattern of Spark's: `*` is any text, `|` separates patterns, case does not matter."""
    if pattern is None:
        return True
    parts = (re.escape(part.strip()).replace(r"\*", ".*").replace("%", ".*") for part in pattern.split("|"))
    return any(re.fullmatch(part, name, re.IGNORECASE | re.DOTALL) for part in parts)

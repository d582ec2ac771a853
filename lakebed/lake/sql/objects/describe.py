"""DESCRIBE: columns, details and history of tables, and namespaces, as DataFrames with Spark's names of columns."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from lakebed.errors import Invalid
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Line
from lakebed.lake.sql.objects.frames import LIST, TEXT, TEXTS, TIME, WHOLE, frame
from lakebed.lake.sql.objects.places import namespace_place, pointing, shown_object
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.metastore import Operation
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.describe import DescribeDetail, DescribeHistory, DescribeNamespace, DescribeTable
from lakebed.spark.sql.queries import Use
from lakebed.spark.sql.tokens import Words
from lakebed.spark.types import spark_schema
from lakebed.table.types.names import folded_column

Row = tuple[str, str, str | None]
"""A column's name, type and comment."""

COMMENT = "comment"
_COLUMNS = {"col_name": TEXT, "data_type": TEXT, "comment": TEXT}
_INFO = {"info_name": TEXT, "info_value": TEXT}
_HISTORY = {
    "version": WHOLE,
    "timestamp": TIME,
    "userName": TEXT,
    "operation": TEXT,
    "operationParameters": TEXTS,
    "operationMetrics": TEXTS,
    "userMetadata": TEXT,
}
_DETAIL = {
    "format": TEXT,
    "id": TEXT,
    "name": TEXT,
    "description": TEXT,
    "location": TEXT,
    "createdAt": TIME,
    "lastModified": TIME,
    "partitionColumns": LIST,
    "numFiles": WHOLE,
    "sizeInBytes": WHOLE,
    "properties": TEXTS,
}
_EMPTY: Row = ("", "", "")


def describe_table(execution: Execution, statement: DescribeTable) -> DataFrame:
    """The columns of a table or view; extended, also its name, place, key, order, size and properties."""
    execution.check_unattributed()
    found, rows = shown_object(execution, statement.table), columns_of(execution, statement.table)
    if statement.column is not None:
        return _describe_column(execution, statement, rows)
    if isinstance(found, Table):
        rows += _partition_rows(found)
    if statement.extended and found is not None:
        rows += [_EMPTY, ("# Detailed Table Information", "", ""), *_details(found)]
    return frame(execution.spark, _COLUMNS, rows)


def describe_history(execution: Execution, statement: DescribeHistory) -> DataFrame:
    """The commits that changed a table, newest first, under Delta's names; the message is the user's metadata."""
    execution.check_unattributed()
    name, rows = statement.table, []
    with pointing(execution, name.word):
        table = execution.places.read(name, None).table(name.parts)
    for commit in table.history()[: statement.limit]:
        done = [each for each in commit.operations if each.object_id == table.id]
        types = ", ".join(dict.fromkeys(each.type.replace("_", " ") for each in done))
        moment = (int(commit.version), commit.time, commit.author, types)
        rows.append((*moment, _parameters(done), _metrics(done), commit.message or None))
    return frame(execution.spark, _HISTORY, rows)


def describe_detail(execution: Execution, statement: DescribeDetail) -> DataFrame:
    """A table in one row, under Delta's names: where it is, when it was created and changed, its files and bytes."""
    execution.check_unattributed()
    name = statement.table
    with pointing(execution, name.word):
        table = execution.places.read(name, None).table(name.parts)
    past, snapshots = table.history(), table.snapshots()
    totals = snapshots[0].totals if snapshots else {}
    times = (past[-1].time, past[0].time) if past else (None, None)
    place = ("lakebed", table.id, str(table.name), table.comment, table.location)
    size = (list(table.spec), totals.get("files", 0), totals.get("bytes", 0))
    return frame(execution.spark, _DETAIL, [(*place, *times, *size, list(table.properties.items()))])


def describe_namespace(execution: Execution, statement: DescribeNamespace) -> DataFrame:
    """A namespace's name, comment, location and owner; extended, with its properties."""
    execution.check_unattributed()
    container, parts = namespace_place(execution, statement.namespace)
    with pointing(execution, statement.namespace.word):
        namespace = container.namespace(parts)
        properties = namespace.properties
    rows = [
        ("Catalog Name", container.name if isinstance(container, Line) else execution.places.line.name),
        ("Namespace Name", ".".join(parts)),
        ("Comment", properties.get(COMMENT, "")),
        ("Location", namespace.location),
        ("Owner", namespace.owner or ""),
    ]
    if statement.extended:
        others = (f"({key},{value})" for key, value in properties.items() if key != COMMENT)
        rows.append(("Properties", f"({', '.join(others)})"))
    return frame(execution.spark, _INFO, rows)


def columns_of(execution: Execution, name: LakeName) -> list[Row]:
    """The columns of a table or view, also of a system table and of one of the session's."""
    schema = _schema(execution, name)
    return [(field.name, field.dataType.simpleString(), field.metadata.get(COMMENT)) for field in schema.fields]


def _schema(execution: Execution, name: LakeName) -> StructType:
    found = shown_object(execution, name)
    if found is not None and found.schema is not None:
        return spark_schema(found.schema)
    return execution.reader.source(Use(name, None), Words(execution.text, ())).schema


def _describe_column(execution: Execution, statement: DescribeTable, rows: list[Row]) -> DataFrame:
    (own, *inner), name = statement.column or (), statement.table
    found = {folded_column(row[0]): row for row in rows}.get(folded_column(own))
    if found is None or inner:
        with pointing(execution, name.word):
            expected = f"one of {', '.join(row[0] for row in rows)}"
            raise Invalid("there is no such column", subject=".".join(statement.column or ()), expected=expected)
    return frame(execution.spark, _INFO, zip(_COLUMNS, (found[0], found[1], found[2] or "NULL"), strict=True))


def _partition_rows(table: Table) -> list[Row]:
    terms = list(table.spec)
    parts: list[Row] = [(f"Part {number}", term, "") for number, term in enumerate(terms)]
    return [_EMPTY, ("# Partitioning", "", ""), *parts] if parts else []


def _details(found: Table | View) -> list[Row]:
    """What else there is to say of a table or view."""
    details = {"Name": str(found.name), "Type": "VIEW" if isinstance(found, View) else "MANAGED"}
    details |= {"Comment": found.comment or ""}
    details |= {"View Text": found.sql_for()} if isinstance(found, View) else _table_details(found)
    others = sorted((key, value) for key, value in found.properties.items() if key != COMMENT)
    details |= {"Table Properties": f"[{','.join(f'{key}={value}' for key, value in others)}]", "Id": found.id}
    return [(key, value, "") for key, value in details.items() if value]


def _table_details(table: Table) -> dict[str, str]:
    snapshots, storage = table.snapshots(), table.storage
    totals = snapshots[0].totals if snapshots else {}
    return {
        "Location": table.location,
        "Provider": storage.source_short_name,
        "Owner": storage.owner or "",
        "Serde Library": storage.serde,
        "InputFormat": storage.input_format,
        "OutputFormat": storage.output_format,
        "Storage Properties": _pairs(storage.properties),
        "Primary Key": ", ".join(table.primary_key),
        "Sort Order": str(table.sort_order),
        "Statistics": f"{totals.get('bytes', 0)} bytes, {totals.get('rows', 0)} rows, {totals.get('files', 0)} files",
        "Version": str(table.version or ""),
    }


def _pairs(properties: Mapping[str, str]) -> str:
    return f"[{', '.join(f'{key}={value}' for key, value in properties.items())}]" if properties else ""


def _parameters(done: list[Operation]) -> list[tuple[str, str]]:
    return list({each.type: each.detail for each in done if each.detail}.items())


def _metrics(done: list[Operation]) -> list[tuple[str, str]]:
    return list({key: str(count) for each in done for key, count in each.counts.items()}.items())

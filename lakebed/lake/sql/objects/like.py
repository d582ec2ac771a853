"""CREATE TABLE … LIKE, by the calls of handles."""

from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.objects.places import pointing, shown_object
from lakebed.lake.table import Table
from lakebed.spark.sql.objects.like import CreateTableLike


def create_table_like(execution: Execution, statement: CreateTableLike) -> Table:
    """Create an empty table with the columns, layout, key and properties of another."""
    source, name = shown_object(execution, statement.source), statement.table
    with pointing(execution, statement.source.word):
        if not isinstance(source, Table):
            source = execution.places.read(statement.source, None).table(statement.source.parts)
    with pointing(execution, name.word):
        return execution.container(name).create_table(
            name.parts,
            source.schema,
            partition_by=source.spec,
            sort_by=source.sort_order,
            primary_key=source.primary_key,
            properties=source.properties | dict(statement.properties),
            location=statement.location,
            if_not_exists=statement.if_not_exists,
            **execution.by.keywords,
        )

"""The rows of a table with where they are: what a change by Spark begins with.

Of a row that goes, its file and its position are noted; one that is written again keeps its id.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.jobs.run import aim
from lakebed.spark.read.read import read
from lakebed.spark.read.source import ORDINAL, Source
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import OWN_PREFIX, ROW_ID
from lakebed.table.schema.metadata_columns import POSITION as POSITION_FIELD
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

# By names that nobody's SQL meets by accident.
PLACE: Final = quoted(ORDINAL)
POSITION: Final = quoted(f"{OWN_PREFIX}position")
ID: Final = quoted(f"{OWN_PREFIX}row")


def placed_rows(
    source: Source,
    schema: Schema,
    files: Sequence[DataFileRef],
    filter: Filter | None,
    columns: Sequence[str],
    *,
    with_ids: bool = True,
) -> DataFrame:
    """The rows of the files that pass, in some of the table's columns, `PLACE`, `POSITION`, and `ID` unless not."""
    check_unreserved(schema.names)
    aim(files)
    asked = [*columns, ORDINAL, POSITION_FIELD.name, *([ROW_ID.name] if with_ids else ())]
    rows = read(source.spark, source.files, schema, files, filter=filter, columns=asked, held=source.held)
    return rows.withColumnsRenamed({POSITION_FIELD.name: bare(POSITION), ROW_ID.name: bare(ID)})


def check_unreserved(names: Iterable[str]) -> None:
    """Refuse columns whose names are Lakebed's own here: an older table's, or those of rows that somebody gives."""
    for one in names:
        if folded_column(one).startswith(OWN_PREFIX):
            advice = "Rename the column."
            raise Invalid(
                "a column has a name that Lakebed needs for itself", subject=one, found=OWN_PREFIX, advice=advice
            )


def bare(name: str) -> str:
    """A quoted name without its quotes."""
    return name[1:-1].replace("``", "`")


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows, calculated once and kept by the executors, in memory or on their disks, until the end of the `with`."""
    kept = rows.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def without_id() -> Column:
    """The id of a row that is new."""
    return F.lit(None).cast(LongType()).alias(ROW_ID.name)

"""The rows of many groups of files in one job: those of each group become a file in a folder of its own.

    <prefix>group=<the group's place among those of the job>/<file>

All rows of a group are brought to one task: a group is to be no larger than a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.files import FileInfo, Files
from lakebed.spark.fit import fit
from lakebed.spark.read.metadata_columns import numbers
from lakebed.spark.read.source import ORDINAL
from lakebed.spark.write.layout import Complete, Layout, sorted_rows
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.schema.metadata_columns import POSITION
from lakebed.table.schema.schema import Schema

GROUP: Final = "group"


@dataclass(frozen=True, slots=True)
class GroupLayout(Layout):
    """Rows with the `places` of where they were: each group together, sorted by an order, or left in that of its files.

    `groups` are the groups of the files that are read, one for each file; `completes` is what completes the entries of
    each group.
    """

    prefix: str
    groups: Sequence[int]
    completes: Sequence[Complete]
    order: SortOrder

    @property
    def names(self) -> tuple[str, ...]:
        return (f"{self.prefix}{GROUP}",)

    @property
    def places(self) -> tuple[str, ...]:
        """The columns that rows have to have besides the table's."""
        return (ORDINAL,) if self.order.fields else (ORDINAL, POSITION.name)

    def laid_out(self, frame: DataFrame, schema: Schema) -> DataFrame:
        places = {one: f"{self.prefix}place_{number}" for number, one in enumerate(self.places)}
        fitted = fit(frame, schema, places)
        [name], [ordinal, *position] = self.names, places.values()
        known = fitted.withColumn(name, F.get(numbers(self.groups), F.col(ordinal)).cast("int"))
        # Without a number of tasks: Spark makes as many as the bytes and its cores are worth, and never cuts a value.
        gathered = known.repartition(F.col(name))
        if self.order.fields:
            return sorted_rows(gathered.drop(ordinal), schema, self.names, self.order)
        return gathered.sortWithinPartitions(name, ordinal, *position).drop(*places.values())

    def completing(self, files: Files, info: FileInfo, folders: Sequence[str]) -> Complete:
        return self.completes[int(folders[0].rpartition("=")[2])]


def group_of(path: str) -> int:
    """The group of a file that was written so."""
    return int(path.split("/")[-2].rpartition("=")[2])

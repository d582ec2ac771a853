"""Where the table's rows of a merge are, and which clauses are for them."""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow
import pyarrow.compute as compute
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.doomed import Doomed
from lakebed.spark.fit import quoted
from lakebed.spark.rows.addresses import doomed, doomed_at, few_rows
from lakebed.spark.rows.placed_rows import PLACE, POSITION, bare
from lakebed.spark.rows.stable_rows import NUMBER
from lakebed.table.manifest.manifest_pb2 import DataFileRef

CLAUSE: Final = quoted("lakebed.clause")
"""The number of the clause that is for a row."""

_PAIRED = "paired"

Counts = Mapping[tuple[int | None, bool], int]
"""How many rows there are by the number of their clause, and whether they are in a pair."""


class PairPlaces:
    """The places of pairs, and of rows that a clause is for though they match none: few are held here.

    To make it reads the table. The pairs are looked at again if they are many: they should be kept.
    """

    def __init__(self, pairs: DataFrame, files: Sequence[DataFileRef]) -> None:
        is_pair = F.col(NUMBER).isNotNull().alias(_PAIRED)
        self._every = pairs.select(PLACE, POSITION, CLAUSE, is_pair)
        self._files = files
        self._few = few_rows(self._every) if files else None
        self.counts: Counts = self._counted() if files else {}

    def of_pairs(self) -> Doomed:
        """The rows that are in pairs."""
        few = self._few
        return self._doomed(F.col(_PAIRED), None if few is None else few[_PAIRED])

    def of_clauses(self) -> Doomed:
        """The rows that a clause is for."""
        few = self._few
        return self._doomed(F.col(CLAUSE).isNotNull(), None if few is None else compute.is_valid(few[bare(CLAUSE)]))

    def _doomed(self, chosen: Column, here: pyarrow.ChunkedArray | None) -> Doomed:
        if self._few is None or here is None:
            return doomed(self._every.where(chosen), self._files, sum(self.counts.values()))
        return doomed_at(self._few.filter(here), self._files)

    def _counted(self) -> Counts:
        if self._few is None:
            found = self._every.groupBy(CLAUSE, _PAIRED).count().collect()
            return {(one[0], one[1]): one[2] for one in found}
        names = [bare(CLAUSE), _PAIRED]
        counted = self._few.group_by(names).aggregate([([], "count_all")])
        return {(one[names[0]], one[_PAIRED]): one["count_all"] for one in counted.to_pylist()}

"""What Arrow's writer is told of bloom filters."""

from typing import Any

from lakebed.catalog.tables.properties import WriteOptions, bloom_ways
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom import unblocked_fpp


def bloom_options(options: WriteOptions, schema: Schema) -> dict[str, Any]:
    """By the paths of columns; `Invalid` for a column that can't have a filter.

    Arrow makes each filter as small as the values of its row group allow, so that the largest group alone counts.
    """
    rate = {"ndv": options.group_rows, "fpp": unblocked_fpp(options.bloom_fpp)}
    return {".".join(one.physical_name for one in way): rate for way in bloom_ways(options, schema)}

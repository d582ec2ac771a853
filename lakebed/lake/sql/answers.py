"""What statements answer."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakebed.catalog.merge.merge import MergeResult
    from lakebed.catalog.transaction.commits import Commit
    from lakebed.lake.namespace import Namespace
    from lakebed.lake.sql.names import Line
    from lakebed.lake.table import Table
    from lakebed.lake.view import View

Answer: TypeAlias = "DataFrame | Commit | Table | View | Namespace | Line | MergeResult | None"
"""Of a query and of SHOW the DataFrame; otherwise what the handles' call answers: a handle, a commit, or None."""

"""A pipeline with all that a run may have, and a process that is killed while it runs it.

`main(FOLDER, NUMBER, after)` kills its own process by SIGKILL at a commit, before it or after it; `NUMBER` 0 kills it
inside a job of Spark.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow

import lakebed
from lakebed import pipelines as lp
from lakebed.metastore import RecordsMetastore
from lakebed.spark import session

MURDER = "murder"
"""The file that has the process which a task of Spark kills."""


def crash_pipeline(told: Callable[[int], None], murder: Path | None = None) -> lp.Pipeline:
    """Rows that are appended, with a quarantine; their sums; days; a check; and a hook, which tells how many came."""
    from pyspark.sql import functions as F

    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table(write="append", version="1", expect=[lp.expect("price > 0", or_="quarantine")])
    def orders(new: Any = lp.appended("raw.orders")) -> Any:
        rows = new.select("id", "item", "price")
        return rows if murder is None else rows.mapInArrow(lambda batches: killed(batches, murder), rows.schema)

    @shop.table
    def sums(orders: Any) -> Any:
        return orders.groupBy("item").agg(F.sum("price").alias("total"))

    @shop.table(window=lp.daily("at", since="2026-11-01", until="2026-11-04", batch=1), version="1")
    def daily(window: lp.Window, rows: Any = lp.read("raw.orders")) -> Any:
        day = F.to_date("at").alias("day")
        return rows.where(window.of("at")).groupBy(day).agg(F.count("*").alias("n"))

    shop.check(lp.unique("sales.orders", "id"), lp.row_count("sales.sums", min=1))

    @shop.after_publish
    def tell(changed: Any = lp.changes("sales.orders")) -> None:
        told(changed.count())

    return shop


def killed(batches: Iterator[pyarrow.RecordBatch], murder: Path) -> Iterator[pyarrow.RecordBatch]:
    """The rows, unless a file names a process: that is killed."""
    for batch in batches:
        if batch.num_rows and murder.exists():
            os.kill(int(murder.read_text()), signal.SIGKILL)
        yield batch


def main(folder: str, number: int, after: bool) -> None:
    """Run the pipeline, and be killed."""
    commit, count = RecordsMetastore.commit, [0]

    def dying(self: Any, *arguments: Any, **named: Any) -> Any:
        count[0] += 1
        if count[0] == number and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        done = commit(self, *arguments, **named)
        if count[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    murder = Path(folder).with_name(MURDER)
    shop = crash_pipeline(lambda rows: None, murder)
    spark = session(**{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.master": "local[2]"})
    with lakebed.connect(folder) as lake:
        if number:
            RecordsMetastore.commit = dying  # type: ignore[method-assign]
        else:
            murder.write_text(str(os.getpid()))
        shop.run(lake, spark)
    sys.exit("nobody killed it")

"""A process that changes a table on Spark and is sent SIGINT at random moments; a line of JSON tells of each change.

Run by test_interruption.py: `python interruption_driver.py FOLDER SEED ROUNDS`.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable

import pyarrow
from pyspark.sql import SparkSession

from lakebed import Table, connect
from lakebed.spark import session

CONF = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
ROWS = 20_000

Rows = dict[int, int]
Change = tuple[Callable[[], object], Callable[[Rows], Rows]]


def main(folder: str, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    spark = session(**CONF)
    with connect(folder) as lake:
        catalog = lake.catalog()
        catalog.create_namespace("sales")
        table = catalog.create_table("sales.orders", {"id": "long", "value": "long", "text": "string"})
        table.append(frame(spark, 0, ROWS, 0))
        longest = dict[str, float]()
        for number in range(rounds):
            name = chance.choice(["append", "compact", "upsert", "delete", "overwrite"])
            delay = chance.uniform(0, longest.get(name, 2.0))
            told = attempt(spark, table, name, number + 1, delay)
            if told["state"] == "before":
                # Later, until moments from the first to the last are among them, however slow the machine is.
                longest[name] = 1.6 * longest.get(name, 2.0)
            print(json.dumps(told), flush=True)
    spark.stop()


def attempt(spark: SparkSession, table: Table, name: str, number: int, delay: float) -> dict[str, object]:
    """Make a change, press Ctrl-C after a while, and compare the rows with those before and those it would make."""
    do, model = change(spark, table, name, number)
    before, answered = rows_of(table), False
    timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        timer.start()
        do()
        answered = True
        timer.join()
        time.sleep(60)  # the signal is on its way
    except KeyboardInterrupt:
        timer.join()
    after = rows_of(table)
    state = "after" if after == model(before) else "before" if after == before else "neither"
    return {"work": name, "delay": delay, "answered": answered, "state": state}


def change(spark: SparkSession, table: Table, name: str, number: int) -> Change:
    start = number * ROWS
    new = dict.fromkeys(range(start, start + ROWS), number)
    some = dict.fromkeys(range(number, start, 97), number)
    some_rows = frame(spark, number, start, number, step=97)
    changes: dict[str, Change] = {
        "append": (lambda: table.append(frame(spark, start, start + ROWS, number)), lambda rows: rows | new),
        "compact": (lambda: table.compact(spark), lambda rows: rows),
        "upsert": (lambda: table.upsert(some_rows, on="id"), lambda rows: rows | some),
        "delete": (
            lambda: table.delete(f"id % 11 = {number % 11}", spark),
            lambda rows: {one: value for one, value in rows.items() if one % 11 != number % 11},
        ),
        "overwrite": (
            lambda: table.overwrite(frame(spark, start, start + ROWS, number), f"value = {number - 1}"),
            lambda rows: {one: value for one, value in rows.items() if value != number - 1} | new,
        ),
    }
    return changes[name]


def frame(spark: SparkSession, start: int, end: int, value: int, step: int = 1):
    return spark.range(start, end, step, 4).selectExpr(
        "id", f"cast({value} as long) as value", "sha2(sha2(sha2(cast(id as string), 512), 512), 512) as text"
    )


def rows_of(table: Table) -> Rows | str:
    """The rows by id, read without Spark; a text that says so if an id is there twice."""
    found: pyarrow.Table = table.scan(columns=["id", "value"]).to_arrow()
    rows = dict(zip(found.column("id").to_pylist(), found.column("value").to_pylist(), strict=True))
    return rows if len(rows) == found.num_rows else f"{found.num_rows} rows, {len(rows)} ids"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

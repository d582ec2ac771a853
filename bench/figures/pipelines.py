"""What a pipeline's run adds over the same Spark jobs by hand, and what expectations add to a plain write."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from bench.data.spark_rows import rows, spark_session
from bench.figure import Figure, Row, duration, ratio
from bench.timing import in_turn, seconds
from lakebed import pipelines as lp

ROWS = 2_000_000
STEPS = 5
ROUNDS = 3


def measure(folder: Path, count: int = ROWS, rounds: int = ROUNDS) -> list[Row]:
    """Five steps, each reads the rows of the one before, adds a column and writes all; then three rules on rows."""
    with spark_session() as spark:
        frame = rows(spark, count)

        def in_lake(work: Callable[[lakebed.Lake], object]) -> float:
            with lakebed.connect(folder / "lake") as lake:
                _load(lake, frame)
                took = seconds(lambda: work(lake))
            shutil.rmtree(folder / "lake")
            return took

        def run(pipeline: lp.Pipeline) -> float:
            return in_lake(lambda lake: pipeline.run(lake, spark).raise_for_status())

        def by_hand() -> float:
            return in_lake(lambda lake: _by_hand(lake, spark))

        chain = _chain(spark)
        in_turn(lambda: run(chain), by_hand, rounds=1, each=1)
        steps = in_turn(lambda: run(chain), by_hand, rounds=rounds, each=1)
        plain, ruled, parted = _one(()), _one(_rules("warn")), _one(_rules("quarantine"))
        counted = in_turn(lambda: run(ruled), lambda: run(plain), rounds=rounds, each=1)
        aside = in_turn(lambda: run(parted), lambda: run(plain), rounds=rounds, each=1)
    added = steps.ours() - steps.theirs()
    return [
        ratio(f"a run of {STEPS} steps / the same jobs by hand", steps, at_most=1.05),
        duration("what a run adds", max(added, 0), "the difference of the medians", at_most=2),
        ratio("a step with three rules that count / without", counted, at_most=1.4),
        ratio("a step with three rules and a quarantine / without", aside, at_most=1.4),
    ]


def _load(lake: lakebed.Lake, frame: DataFrame) -> None:
    main = lake.catalog()
    main.create_namespace("raw")
    main.create_table("raw.rows", frame.schema).append(frame)
    main.create_namespace("out")


def _more(rows: DataFrame, number: int) -> DataFrame:
    return rows.withColumn(f"more_{number}", F.hash(rows.columns[0]) % (number + 2))


def _chain(spark: SparkSession) -> lp.Pipeline:
    chain = lp.Pipeline("chain", namespace="out")
    for number in range(STEPS):
        source = "raw.rows" if number == 0 else f"out.step_{number - 1}"

        def step(rows: DataFrame, number: int = number) -> DataFrame:
            return _more(rows, number)

        step.__name__ = f"step_{number}"
        chain.table(inputs={"rows": source})(step)
    return chain


def _by_hand(lake: lakebed.Lake, spark: SparkSession) -> None:
    main = lake.catalog()
    for number in range(STEPS):
        source = "raw.rows" if number == 0 else f"out.step_{number - 1}"
        made = _more(main.table(source).read(spark), number)
        main.create_table(f"out.step_{number}", made.schema).overwrite(made)


def _one(expectations: Any) -> lp.Pipeline:
    one = lp.Pipeline("one", namespace="out")

    @one.table("out.kept", expect=expectations, inputs={"rows": "raw.rows"})
    def kept(rows: DataFrame) -> DataFrame:
        return rows

    return one


def _rules(severity: Any) -> list[Any]:
    return [
        lp.expect("hash(id) % 100 <> 7", or_=severity),
        lp.expect("id is not null", or_=severity),
        lp.expect("id >= 0", or_=severity),
    ]


def _quick(folder: Path) -> list[Row]:
    return measure(folder, count=1000, rounds=1)


FIGURE = Figure("pipelines", f"Pipelines over {ROWS // 1_000_000}M rows on Spark", measure, _quick)

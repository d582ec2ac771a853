"""An upsert of one row for each hundred: half of them exist, spread over all files, and half are new."""

from pyspark.sql import DataFrame

from bench.data.spark_rows import rows_by_id
from bench.figure import Row
from bench.spark_peers.rounds import Took, compared, in_turn, took
from bench.spark_peers.scan import ALL, aggregated
from bench.spark_peers.tables import ChangedTables
from bench.spark_peers.testbed import DELTA, ICEBERG, OURS, Testbed, check_same


def measure(testbed: Testbed) -> list[Row]:
    name, rows = testbed.filled(), changes(testbed)

    def upserted(kind: ChangedTables) -> Took:
        kind.put_back(name)
        return took(lambda: kind.upsert(name, rows))

    rounds = in_turn(testbed.changed, upserted, testbed.size.rounds)
    answers = {label: aggregated(kind.read(name), ALL) for label, kind in testbed.changed.items()}
    check_same(answers)
    assert answers[OURS][-1] == testbed.size.rows + testbed.size.rows // 200
    return [
        *compared("upsert of 1 %", rounds, OURS, ICEBERG, wall=0.5),
        *compared("upsert of 1 %", rounds, OURS, DELTA),
    ]


def changes(testbed: Testbed) -> DataFrame:
    """The rows to upsert, read from files: every two hundredth of the existing rows, and as many new ones."""
    count, place = testbed.size.rows, str(testbed.folder / "changes")
    ids = testbed.spark.range(0, count // 100, 1, 2).selectExpr(
        f"if(id % 2 = 0, id * 100 + 3, {count} + id div 2) AS id"
    )
    rows_by_id(ids).selectExpr("* EXCEPT (price)", "price + 1 AS price").write.mode("overwrite").parquet(place)
    return testbed.spark.read.parquet(place).select(*testbed.rows().columns)

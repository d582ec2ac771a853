"""An upsert of one row for each hundred: half of them are there, in all files, and half are new."""

from pyspark.sql import DataFrame

from bench.figure import Row
from bench.spark_peers.bed import DELTA, ICEBERG, OURS, Bed, same
from bench.spark_peers.rounds import Took, compared, in_turn, took
from bench.spark_peers.scan import ALL, aggregated
from bench.spark_peers.tables import ChangedTables
from bench.spark_rows import rows_by_id


def measure(bed: Bed) -> list[Row]:
    name, rows = bed.filled(), changes(bed)

    def upserted(kind: ChangedTables) -> Took:
        kind.put_back(name)
        return took(lambda: kind.upsert(name, rows))

    rounds = in_turn(bed.changed, upserted, bed.size.rounds)
    answers = {one: aggregated(kind.read(name), ALL) for one, kind in bed.changed.items()}
    same(answers)
    assert answers[OURS][-1] == bed.size.rows + bed.size.rows // 200
    return [
        *compared("upsert of 1 %", rounds, OURS, ICEBERG, wall=0.5),
        *compared("upsert of 1 %", rounds, OURS, DELTA),
    ]


def changes(bed: Bed) -> DataFrame:
    """The rows, in files, as they come from elsewhere: each two hundredth of those that are there, and as many new."""
    count, place = bed.size.rows, str(bed.folder / "changes")
    ids = bed.spark.range(0, count // 100, 1, 2).selectExpr(f"if(id % 2 = 0, id * 100 + 3, {count} + id div 2) AS id")
    rows_by_id(ids).selectExpr("* EXCEPT (price)", "price + 1 AS price").write.mode("overwrite").parquet(place)
    return bed.spark.read.parquet(place).select(*bed.rows().columns)

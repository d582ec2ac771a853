"""Explicit partitions by Spark: reads, writes, staged ones and statements are those of the local engine."""

from datetime import date

import pyarrow
import pyarrow.parquet
import pytest

from lakebed import Invalid, NotFound

FIRST, SECOND, THIRD, FOURTH = (date(2026, 11, day) for day in range(1, 5))


@pytest.fixture
def table(main):
    main.create_namespace("s")
    return main.create_table("s.t", {"id": "long", "v": "string", "dt": "date"}, partition_by=["dt"])


@pytest.fixture
def hive(tmp_path):
    for day in (FIRST, SECOND):
        folder = tmp_path / "hive" / f"dt={day}"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": [day.day * 10], "v": ["file"]}), folder / "a.parquet")
    return tmp_path / "hive"


def ids(shown, spark):
    """The ids by day, the same by both engines."""
    read = sorted((row.dt, row.id) for row in shown.read(spark).select("dt", "id").collect())
    scanned = sorted((row["dt"], row["id"]) for row in shown.scan(columns=["dt", "id"]).to_arrow().to_pylist())
    assert read == scanned
    return [(day.day, id) for day, id in read]


def test_a_partition_is_read_filled_swapped_and_changed_by_spark(table, hive, spark):
    first = table.create_partition({"dt": FIRST}, location=str(hive / "dt=2026-11-01"))
    frame = spark.createDataFrame([(11, "row")], "id long, v string")
    first.append(frame)  # without the column of the day
    table.append(spark.createDataFrame([(12, FIRST), (20, SECOND)], "id long, dt date"))
    assert ids(table, spark) == [(1, 10), (1, 11), (1, 12), (2, 20)]
    assert ids(first, spark) == [(1, 10), (1, 11), (1, 12)]
    with pytest.raises(Invalid, match="other values than the partition"):
        first.append(spark.createDataFrame([(13, SECOND)], "id long, dt date"))

    staged = table.stage_partition({"dt": FIRST})
    staged.append(spark.createDataFrame([(14,), (15,)], "id long"))
    staged.delete("id = 15", spark)
    assert (ids(staged, spark), ids(table.partition(), spark)) == ([(1, 14)], [(2, 20)])
    staged.commit()
    assert ids(table, spark) == [(1, 14), (2, 20)]


@pytest.mark.long
def test_rows_of_a_partition_are_changed_by_spark(table, spark):
    table.append([{"id": 20, "dt": SECOND}])
    staged = table.create_partition({"dt": FIRST})
    staged.overwrite(spark.createDataFrame([(16,), (17,)], "id long"))
    table.compact(spark)
    assert ids(table, spark) == [(1, 16), (1, 17), (2, 20)]
    staged.rename({"dt": THIRD}, spark)
    assert (ids(table, spark), ids(staged, spark)) == ([(2, 20), (3, 16), (3, 17)], [(3, 16), (3, 17)])
    staged.delete("id = 16", spark)
    assert ids(table, spark) == [(2, 20), (3, 17)]


def test_the_statements_of_hive_change_partitions(lake, main, table, hive, spark):
    def run(text):
        return lake.sql(spark, text)

    run(f"ALTER TABLE s.t ADD PARTITION (dt = '2026-11-01') LOCATION '{hive}/dt=2026-11-01'")
    run(f"ALTER TABLE s.t ADD IF NOT EXISTS PARTITION (dt = DATE '2026-11-01') LOCATION '{hive}/dt=2026-11-01'")
    commit = run("ALTER TABLE s.t ADD PARTITION (dt = '2026-11-04')")
    assert [done.type for done in commit.operations] == ["create"]
    run("INSERT INTO s.t PARTITION (dt = DATE '2026-11-04') (id) VALUES (40)")
    assert ids(table.partition({"dt": FOURTH}), spark) == [(4, 40)]
    shown = [(row.partition, row.rows) for row in run("SHOW PARTITIONS s.t").collect()]
    assert shown == [("dt=2026-11-01", 1), ("dt=2026-11-04", 1)]
    run(f"ALTER TABLE s.t PARTITION (dt = '2026-11-01') SET LOCATION '{hive}/dt=2026-11-02'")
    assert ids(table, spark) == [(1, 20), (4, 40)]
    run("ALTER TABLE s.t PARTITION (dt = '2026-11-04') RENAME TO PARTITION (dt = '2026-11-03')")
    run("ALTER TABLE s.t DROP IF EXISTS PARTITION (dt = '2026-11-04')")
    run("ALTER TABLE s.t DROP PARTITION (dt = '2026-11-01')")
    assert ids(table, spark) == [(3, 40)]
    with pytest.raises(NotFound, match="no explicit partition"):
        run("ALTER TABLE s.t DROP PARTITION (dt = '2026-11-01')")
    found = {bytes(row.partition_values): row.state for row in run("SELECT * FROM s.t.partitions").collect()}
    assert found[b'{"dt": "2026-11-03"}'] == "committed"

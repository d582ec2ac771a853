"""Iceberg's own Spark runtime reads the rows from an exported table which Lakebed reads, deletion vectors applied.

It has no runtime for the Spark of these tests. So an older Spark reads, in an environment of its own, which the first
run makes in `.venv-iceberg`: PySpark from PyPI, Iceberg's runtime from Maven.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pyarrow
import pyarrow.parquet
import pytest

from lakebed import Lake, Schema, Table
from lakebed.spark.java import java_home

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]  # the first run downloads some 500 MB

PYSPARK = "pyspark==4.1.*"
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-iceberg"
READER = Path(__file__).with_name("iceberg_reader.py")
STARTED = "iceberg reader started"
LINEAGE = ["_row_id", "_last_updated_sequence_number"]

Export = Callable[[Table], str]


@dataclass(frozen=True)
class Read:
    """What Iceberg's reader is asked for, and the rows that Lakebed has for it."""

    metadata: str
    expected: pyarrow.Table
    where: str | None = None


def python() -> str:
    """The Python of the environment, which is made if it is not there; skips if it can't be."""
    found = ENVIRONMENT / "bin" / "python"
    try:
        if not found.exists():
            ENVIRONMENT.mkdir(exist_ok=True)
            (ENVIRONMENT / ".gitignore").write_text("*\n")  # first: whoever commits meanwhile must not get 500 MB
            subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True, capture_output=True)
        if subprocess.run([found, "-c", "import pyspark"], capture_output=True).returncode:
            subprocess.run([found, "-m", "pip", "install", "--quiet", PYSPARK], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"`{found} -m pip install {PYSPARK}` has to work once, online: {error.stderr.decode()[-300:]}")
    return str(found)


def results(reads: list[Read], folder: Path) -> list[pyarrow.Table]:
    """What Iceberg's reader finds, in one Spark session."""
    jobs = [
        {
            "metadata": one.metadata,
            "columns": one.expected.column_names,
            "where": one.where,
            "result": str(folder / str(place)),
        }
        for place, one in enumerate(reads)
    ]
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    command = [python(), str(READER), RUNTIME, str(ENVIRONMENT / "ivy"), str(folder / "jobs.json")]
    environment = {key: one for key, one in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**environment, "JAVA_HOME": java_home()}
    )
    if STARTED not in run.stdout:
        pytest.skip(f"Spark has to get {RUNTIME} from Maven once, online, and start: {run.stderr[-300:]}")
    assert run.returncode == 0, run.stderr[-3000:]
    return [pyarrow.parquet.read_table(job["result"]) for job in jobs]


def counted(rows: pyarrow.Table) -> Counter[str]:
    return Counter(repr(sorted((key, plain(one)) for key, one in row.items())) for row in rows.to_pylist())


def plain(value: object) -> object:
    """Spark has no type for a UUID but text."""
    return str(value) if isinstance(value, UUID) else value


def rows_of(table: Table, where: str | None = None, columns: list[str] | None = None) -> pyarrow.Table:
    return table.scan(where, columns=columns).to_arrow()


def every_partition(lake: Lake) -> Table:
    """Partitions of the types that manifests have in forms of their own, under names that Avro has not."""
    schema = Schema({"id": "long", "größe 1": "decimal(20, 2)", "u": "uuid", "f": "fixed(3)", "at": "timestamptz"})
    table = lake.catalog().create_table(
        "every",
        schema,
        # Not by `f`: Iceberg's reader takes a fixed for bytes with a length (github.com/apache/iceberg/issues/17501).
        partition_by=["`größe 1`", "u", "hour(at)", "truncate(5, id)"],
        properties={"write.inline-bytes": "0"},
    )
    table.append(
        pyarrow.table(
            {
                "id": [1, 7, None],
                "größe 1": pyarrow.array(["-123456789012345678.90", "0.10", None]).cast(pyarrow.decimal128(20, 2)),
                "u": pyarrow.array([UUID(int=2**127 + 5).bytes, UUID(int=5).bytes, None], pyarrow.binary(16)),
                "f": pyarrow.array([b"\x00\xff\x01", b"abc", None], pyarrow.binary(3)),
                "at": pyarrow.array([-1, 3_600_000_000, None], pyarrow.timestamp("us", "UTC")),
            }
        )
    )
    return table


def merged(lake: Lake) -> Table:
    """A table whose export has a vector in a Puffin file of its own: that of the branch has another one besides."""
    table = lake.catalog().create_table("merged", Schema({"id": "long"}), properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"id": [1, 2, 3]}))
    table.append(pyarrow.table({"id": [11, 12, 13]}))
    branch = lake.catalog().create_branch("dev")
    branch.table("merged").delete("id IN (1, 12)")
    table.delete("id = 2")
    lake.catalog().merge(branch, strategy="ours")
    return table


def adopted(lake: Lake, folder: Path) -> Table:
    """A column that the table's files and an added file call differently; the added file has no field ids."""
    rows = pyarrow.table({"id": [1, 2], "Order ID": [10, 20]})
    pyarrow.parquet.write_table(rows, folder / "theirs.parquet")
    schema = {"id": "long", "Order ID": "long"}
    table = lake.catalog().create_table("adopted", schema, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"id": [3], "Order ID": [30]}))
    table.add_files([folder / "theirs.parquet"])
    return table


def test_icebergs_own_reader_in_spark_has_the_same_rows(
    lake: Lake, orders: Table, export: Export, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = export(orders)
    reads = [Read(first, rows_of(orders))]
    evolved = request.getfixturevalue("evolved")  # from here on it is changed
    path = export(evolved)
    columns = list(evolved.schema.names)
    reads.append(Read(path, rows_of(evolved, columns=[*columns, *LINEAGE])))
    for where in ("region = 'eu'", "id >= 100", "id < 12 AND region IS NULL", "label = 'changed'", "score = 7"):
        reads.append(Read(path, rows_of(evolved, where), where))
    table = every_partition(lake)
    reads.append(Read(export(table), rows_of(table)))
    reads.append(Read(export(table), rows_of(table, "`größe 1` = 0.10"), "`größe 1` = 0.10"))
    table = adopted(lake, tmp_path)
    reads.append(Read(export(table), rows_of(table)))
    reads.append(Read(export(table), rows_of(table, "`Order ID` > 10"), "`Order ID` > 10"))
    table = merged(lake)
    reads.append(Read(export(table), rows_of(table)))
    with evolved.evolve() as change:
        change.drop_column("region")
    reads.append(Read(export(evolved), rows_of(evolved)))
    folder = tmp_path / "found"
    folder.mkdir()
    found = results(reads, folder)
    for one, rows in zip(reads, found, strict=True):
        assert one.expected.num_rows > 0
        assert counted(rows) == counted(one.expected), one.where

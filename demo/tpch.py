"""TPC-H: the raw files, and what DuckDB has to read to see what a branch should contain."""

import shutil
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow

NAMES = ("orders", "lineitem")
YEAR = "o_orderdate >= '1998-01-01'"
URGENT = f"{YEAR} AND o_orderpriority = '1-URGENT'"
FEBRUARY = "o_orderstatus = 'O' AND month(o_orderdate) = 2"
SHIFT = 1_000_000_000  # larger than any key of TPC-H at this scale

# Columns that are omitted become null.
THREE_ORDERS = pyarrow.Table.from_pylist(
    [
        {"o_orderkey": 1, "o_custkey": 7, "o_totalprice": Decimal("19.99"), "o_orderdate": date(2026, 11, 1)},
        {"o_orderkey": 2, "o_custkey": 7, "o_totalprice": Decimal("0.01"), "o_orderdate": date(2026, 11, 2)},
        {"o_orderkey": 3, "o_custkey": 8, "o_totalprice": None, "o_orderdate": date(2026, 11, 3)},
    ]
)


def make_files(folder: Path, scale: float) -> None:
    """Write orders and lineitem as one Parquet file each, unless they exist."""
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    generator = Path(sys.executable).with_name("tpchgen-cli")
    tables = ("--tables", ",".join(NAMES))
    subprocess.run([generator, "parquet", "-s", str(scale), *tables, "-o", unfinished, "--quiet"], check=True)
    unfinished.rename(folder)


def on_main(files: Path) -> dict[str, str]:
    """What DuckDB reads instead of a table of the trunk: the raw file."""
    return {name: f"'{files / name}.parquet'" for name in NAMES}


def on_branch(files: Path) -> dict[str, str]:
    """What DuckDB reads for dev: the raw file, its rows of 1998 with new keys, and the three orders."""
    raw = on_main(files)
    keys = f"SELECT o_orderkey FROM {raw['orders']} WHERE {YEAR}"
    orders = f"SELECT * REPLACE (o_orderkey + {SHIFT} AS o_orderkey) FROM {raw['orders']} WHERE {YEAR}"
    lines = f"SELECT * REPLACE (l_orderkey + {SHIFT} AS l_orderkey) FROM {raw['lineitem']} WHERE l_orderkey IN ({keys})"
    return {
        "orders": f"(FROM {raw['orders']} UNION ALL {orders} UNION ALL BY NAME FROM three_orders)",
        "lineitem": f"(FROM {raw['lineitem']} UNION ALL {lines})",
    }


def changed_orders(files: Path) -> str:
    """What DuckDB reads for orders after the upsert and the delete."""
    raw = on_main(files)["orders"]
    dearer = f"SELECT * REPLACE (o_totalprice + 10 AS o_totalprice) FROM {raw} WHERE {URGENT}"
    copies = f"SELECT * REPLACE (o_orderkey + {SHIFT} AS o_orderkey) FROM {raw} WHERE {URGENT}"
    upserted = f"FROM {raw} WHERE NOT ({URGENT}) UNION ALL {dearer} UNION ALL {copies}"
    return f"(FROM ({upserted}) WHERE NOT ({FEBRUARY}))"


def empty_tables(files: Path) -> dict[str, str]:
    """Tables without rows."""
    return {name: f"(FROM {source} LIMIT 0)" for name, source in on_main(files).items()}

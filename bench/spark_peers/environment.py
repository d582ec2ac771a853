"""A Python with the Spark that Iceberg and Delta have runtimes for: older than the one that Lakebed is tested with."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".venv-peers"
PYSPARK = "4.1.4"
ICEBERG = "1.12.0"
DELTA = "4.4.0"
RUNTIMES = (
    f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG}",
    f"io.delta:delta-spark_4.1_2.13:{DELTA}",
)
DOWNLOADS = PLACE / "ivy"

_NEEDED = ("--editable", str(ROOT), f"pyspark=={PYSPARK}", "pandas>=2.2,<3")
_READY = PLACE / "ready"


def python() -> str:
    """The environment's Python. The first call makes it, from PyPI, in some minutes."""
    found = PLACE / "bin" / "python"
    if not _READY.exists():
        PLACE.mkdir(exist_ok=True)
        (PLACE / ".gitignore").write_text("*\n")  # first: whoever commits meanwhile must not get 500 MB
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
        subprocess.run([found, "-m", "pip", "install", "--quiet", *_NEEDED], check=True)
        _READY.touch()
    return str(found)


def variables() -> dict[str, str]:
    """Those of this process, without what would lead to another Spark."""
    return {key: one for key, one in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}

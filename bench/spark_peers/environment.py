"""A Python with the Spark that Iceberg and Delta have runtimes for, older than the one Lakebed is tested with."""

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
    """The environment's Python. The first call creates the environment from PyPI, which takes some minutes."""
    found = PLACE / "bin" / "python"
    if not _READY.exists():
        PLACE.mkdir(exist_ok=True)
        (PLACE / ".gitignore").write_text("*\n")  # first, so that nobody commits 500 MB meanwhile
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
        subprocess.run([found, "-m", "pip", "install", "--quiet", *_NEEDED], check=True)
        _READY.touch()
    return str(found)


def variables() -> dict[str, str]:
    """The environment variables of this process, without those that lead to another Spark."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}

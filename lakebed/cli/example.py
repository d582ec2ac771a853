"""The pipeline that `lakebed init --pipeline` writes: it runs as it is, on rows that it makes itself."""

from pathlib import Path

NAME = "etl.py"


def example() -> str:
    """Its text."""
    return Path(__file__).with_name("etl.txt").read_text(encoding="utf-8")

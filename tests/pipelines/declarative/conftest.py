"""Projects of Spark Declarative Pipelines, written to a folder as their authors would."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp

SPEC = """
name: shop
storage: file:///nowhere
database: sales
libraries:
  - glob:
      include: transformations/**
"""
HEAD = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from lakebed import pipelines as lp
"""

Write = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Write:
    """Writes files of a project; Python files get the imports that all of them have."""

    def write(spec: str = SPEC, **files: str) -> Path:
        folder = tmp_path / "project"
        (folder / "transformations").mkdir(parents=True, exist_ok=True)
        (folder / "spark-pipeline.yml").write_text(spec)
        for name, text in files.items():
            stem, _, kind = name.rpartition("_")
            own = HEAD + text if kind == "py" else text
            (folder / "transformations" / f"{stem}.{kind}").write_text(own)
        return folder

    return write


@pytest.fixture
def load(lake: lakebed.Lake, spark: Any, main: lakebed.Catalog) -> Callable[..., lp.Pipeline]:
    """The pipeline of a project, over a lake that has the namespace of its tables."""
    main.create_namespace("sales", if_not_exists=True)
    return lambda folder, **more: lp.spark_pipeline(folder, lake, spark, **more)


@pytest.fixture
def run(lake: lakebed.Lake, spark: Any, load: Callable[..., lp.Pipeline]) -> Callable[..., Any]:
    """Reads a project again, as a new process would, and runs it."""

    def again(folder: Path, **more: Any) -> Any:
        return load(folder).run(lake, spark, **more)

    return again

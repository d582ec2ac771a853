"""Pipelines in files: an `etl.py` that is run like a module, or a project of Spark's declarative pipelines."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lakebed.errors import Invalid, NotFound
from lakebed.lake.lake import Lake
from lakebed.pipelines.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = (".yml", ".yaml")


def load_pipeline(address: str | os.PathLike[str], called: str | None = None) -> Pipeline:
    """The pipeline of a file: `etl.py`, or `etl.py:shop` if it makes several. The file's folder is on `sys.path`.

    `called` is the name that the pipeline gives itself: of a file that makes several, that one.
    """
    text, _, name = os.fspath(address).partition(".py:")
    path = Path(f"{text}.py" if name else text)
    if not path.is_file():
        raise NotFound("there is no such file", subject=str(path), expected="a Python file that makes a Pipeline")
    module = _run(path)
    made = {key: value for key, value in vars(module).items() if isinstance(value, Pipeline)}
    found = made if called is None else {key: value for key, value in made.items() if value.name == called}
    if made and not found:
        raise NotFound(
            "the file makes no pipeline of this name",
            subject=f"{path}, pipeline {called}",
            expected=", ".join(sorted({value.name for value in made.values()})),
        )
    if name:
        if name not in found:
            raise NotFound(
                "the file has no such pipeline", subject=f"{path}:{name}", expected=", ".join(found) or "a Pipeline"
            )
        return found[name]
    distinct = list({id(pipeline): pipeline for pipeline in found.values()}.values())
    if len(distinct) != 1:
        raise Invalid(
            "the file makes no pipeline" if not distinct else "the file makes several pipelines",
            subject=str(path),
            expected='shop = lp.Pipeline("shop")' if not distinct else None,
            found=", ".join(found) or None,
            advice="" if not distinct else f"Name one: {path}:{next(iter(found))}",
        )
    return distinct[0]


def is_project(address: str | os.PathLike[str]) -> bool:
    """Whether an address is that of a project of Spark's declarative pipelines: its spec, or a folder."""
    return Path(address).suffix in PROJECT or Path(address).is_dir()


def spark_pipeline(path: str | os.PathLike[str], lake: Lake, spark: "SparkSession", *, into: str = "main") -> Pipeline:
    """The pipeline of a project of Spark's declarative pipelines: `spark-pipeline.yml`, or the folder that has it.

    Its files stay as they are. They are run now, and their functions are evaluated over empty frames with the columns
    that the tables of the branch `into` have.
    """
    from lakebed.pipelines.declarative.project import spark_pipeline

    return spark_pipeline(Path(path), lake, spark, into)


def _run(path: Path) -> ModuleType:
    """The module of a file, run under a name of its own, so that `if __name__ == "__main__"` does nothing."""
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Invalid("this is not a Python file", subject=str(path))
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module

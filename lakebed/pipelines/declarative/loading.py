"""Runs the sources of a project, so that they define what it is made of."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.pipelines.graph_element_registry import graph_element_registration_context
from pyspark.sql import SparkSession

from lakebed.errors import Invalid, LakebedError
from lakebed.pipelines.declarative.registry import Registry
from lakebed.pipelines.declarative.session import FlowSession
from lakebed.pipelines.declarative.spec import Spec
from lakebed.pipelines.declarative.wanted import Find
from lakebed.spark.attachment.attach import answered_by

PREFIX = "spark_pipeline_"
"""How the modules of a project's files begin: none of them hides a module that Python has."""


def load(spec: Spec, registry: Registry, spark: SparkSession, find: Find) -> None:
    """Run the project's files in its folder; what they read at once, `find` looks up."""
    with _in_folder(spec.folder), graph_element_registration_context(registry):
        for file in spec.files():
            try:
                if file.suffix == ".sql":
                    registry.register_sql(file.read_text(encoding="utf-8"), file.relative_to(spec.folder))
                else:
                    with answered_by(spark, FlowSession(spark, find, registry.scope.database)):
                        _run(file, spark)
            except LakebedError as error:
                if str(file.name) not in error.subject:
                    error.subject = f"{file.name}, {error.subject}" if error.subject else file.name
                raise


def _run(file: Path, spark: SparkSession) -> None:
    """Run a file as Spark's runner does: its functions are pickled by value, so no module of its name is kept."""
    module_spec = importlib.util.spec_from_file_location(PREFIX + file.stem, file)
    if module_spec is None or module_spec.loader is None:
        raise Invalid("this is not a Python file", subject=file.name)
    module = importlib.util.module_from_spec(module_spec)
    module.__dict__["spark"] = spark
    try:
        module_spec.loader.exec_module(module)
    except LakebedError:
        raise
    except SystemExit as error:  # without grpc, create_auto_cdc_flow ends the process, with code 0
        raise Invalid(
            "the file ended the process",
            subject=_subject(file, error),
            found=f"SystemExit({error.code!r})",
            advice=_advice(),
        ) from error
    except Exception as error:
        text = str(error).strip().splitlines()
        raise Invalid(
            f"the file could not be run: {type(error).__name__}: {text[0] if text else ''}".rstrip(": "),
            subject=_subject(file, error),
        ) from error


def _subject(file: Path, error: BaseException) -> str:
    """The file, and the line of it at which the error was raised."""
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == str(file):
            line = step.tb_lineno
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename == str(file):
        line = error.lineno
    return file.name if line is None else f"{file.name}:{line}"


def _advice() -> str:
    if importlib.util.find_spec("grpc") is None:
        return "create_auto_cdc_flow needs grpc: run `pip install 'pyspark[connect]'`."
    return "Take the sys.exit out of it."


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    """Paths of a project begin at its folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)

"""Engines, loaded when one is first used: `import lakebed` brings in neither pyarrow nor pyspark."""

from importlib import import_module
from typing import Any, Literal, cast
from uuid import uuid4

from lakebed.catalog.tables import TableState
from lakebed.files import Files
from lakebed.table.manifest_pb2 import DataFileRef


def load_engine(name: Literal["arrow", "spark"]) -> Any:
    """The package of an engine. Both have `write`, and `schema_of` for the schemas of their own kind."""
    return import_module(f"lakebed.{name}")


def engine_of(data: object) -> Any:
    """The engine that a piece of data, or a schema, belongs to."""
    return load_engine("spark" if _is_of_spark(data) else "arrow")


def write_files(files: Files, state: TableState, data: object) -> list[DataFileRef]:
    """Write rows by the engine that they belong to, under names that no other attempt has.

    A Spark job has a folder of its own; of a local write each file has a name of its own, which spares a sync.
    """
    folder = f"{state.data_folder}/{uuid4()}" if _is_of_spark(data) else state.data_folder
    return cast(
        "list[DataFileRef]", engine_of(data).write(files, folder, state.schema, data, state.spec, state.sort_order)
    )


def can_be_read_again(data: object) -> bool:
    """Whether rows are in memory still after they were written. A stream's are gone; a job's may take hours."""
    return any((kind.__module__.partition(".")[0], kind.__name__) in _IN_MEMORY for kind in type(data).__mro__)


_IN_MEMORY = {("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame")}


def _is_of_spark(data: object) -> bool:
    return any(kind.__module__.partition(".")[0] == "pyspark" for kind in type(data).__mro__)

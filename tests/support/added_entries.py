"""Entries of Parquet files that others wrote, and why they are refused."""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow
import pytest

from lakebed.arrow.add_files import added_files
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.schema.schema import Schema, with_ids

TABLE: Final = pyarrow.table({"id": [1, 2, 3], "name": ["a", "b", None]})
SCHEMA: Final = with_ids(Schema({"id": "long", "name": "string"}), 1, 1)


def numbered(types: Schema | Mapping[str, Any]) -> Schema:
    """Columns with ids, as a table has them."""
    return with_ids(types if isinstance(types, Schema) else Schema(types), 1, 1)


def entry(
    files: Files,
    path: str,
    schema: Schema = SCHEMA,
    spec: PartitionSpec = UNPARTITIONED,
    *,
    verify: bool = True,
) -> DataFileRef:
    """The entry of one file."""
    [found] = added_files(files, schema, spec, [path], verify=verify)
    return found


def refusal(files: Files, paths: str | list[str], schema: Schema = SCHEMA, spec: PartitionSpec = UNPARTITIONED) -> str:
    """What is found wrong with files that are no entries."""
    with pytest.raises(Invalid) as caught:
        added_files(files, schema, spec, [paths] if isinstance(paths, str) else paths)
    return str(caught.value.found or caught.value)

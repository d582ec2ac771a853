"""Arrow keeps the rows that a filter's words are true of, in memory and in Parquet whose row groups are skipped."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.expression.filter import filter_mask
from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import file_schema
from lakebed.files import LocalFiles
from lakebed.table.filter.bind import TERMS, parse_filter
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.plan.pruning import row_group_matches
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.types import Field
from tests.support.examples import long_but
from tests.support.filters import NAN, SCHEMA, condition, rows
from tests.support.sources import sources_of

ROWS = rows(Random(13), 60)


def physical(field: Field) -> str:
    return field.physical_name


def table_of(among: list[dict[str, Any]]) -> pyarrow.Table:
    schema = file_schema(SCHEMA)
    return pyarrow.table({one.name: pyarrow.array([row[one.name] for row in among], one.type) for one in schema})


def numbered(table: pyarrow.Table) -> pyarrow.Table:
    return table.append_column("row", pyarrow.array(range(table.num_rows)))


TABLE = numbered(table_of(ROWS))


def where(text: str) -> Filter:
    return parse_filter(text, SCHEMA)


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_arrow_keeps_the_rows_that_the_words_are_true_of(random: Random) -> None:
    asked = condition(random)
    kept = TABLE.filter(filter_mask(where(asked.text), TABLE, physical))
    assert kept["row"].to_pylist() == [at for at, keeps in enumerate(asked.kept(ROWS)) if keeps], asked.text


def put(path: Path, table: pyarrow.Table, schema: Schema) -> DataFileRef:
    """The table as another writer's Parquet, two rows to a row group, without counts of its NaNs."""
    pyarrow.parquet.write_table(table, path, row_group_size=2)
    return data_file(pyarrow.parquet.read_metadata(path), schema, path=path.name, size=path.stat().st_size)


def kept(folder: Path, file: DataFileRef, schema: Schema, filter: Filter) -> pyarrow.Table:
    plan = pruned_plan([PlannedFile(file)], filter)
    return Scan(sources_of(LocalFiles(folder)), schema, plan, filter).to_arrow()


NUMBERED = with_ids(Schema([*SCHEMA.fields, Field("row", "long")]), 0, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("filters")
    return path


@pytest.fixture(scope="module")
def file(folder: Path) -> DataFileRef:
    return put(folder / "rows.parquet", TABLE, NUMBERED)


@pytest.mark.parametrize("seed", long_but(range(200), range(50)))
def test_a_scan_that_skips_row_groups_keeps_the_same_rows(seed: int, folder: Path, file: DataFileRef) -> None:
    asked = condition(Random(seed))
    found = kept(folder, file, NUMBERED, where(asked.text))
    assert found["row"].to_pylist() == [at for at, keeps in enumerate(asked.kept(ROWS)) if keeps], asked.text


@pytest.mark.parametrize("text", ["share = 'NaN'", "share > 5", "share != 1", "share >= 'NaN'", "share not in (1)"])
def test_a_scan_keeps_nan_beside_equal_bounds(text: str, tmp_path: Path) -> None:
    schema = Schema([SCHEMA.field("share")])
    file = put(tmp_path / "nan.parquet", pyarrow.table({"share": [1.0, NAN, 1.0, 1.0]}), schema)
    assert str(kept(tmp_path, file, schema, where(text))["share"].to_pylist()) == "[nan]"


def test_a_scan_skips_row_groups(file: DataFileRef) -> None:
    assert len(file.blocks) == 30
    for text in ("big = 9223372036854775807", "share < -1e300 and wide > 1"):
        blocks = row_group_matches(where(text), file)
        assert blocks is not None
        assert len(blocks) < 20


def test_a_column_is_called_what_it_is_in_the_files() -> None:
    table = pyarrow.table({"a.b": [1, 2], "small": [2, 1]}, pyarrow.schema([("a.b", "int32"), ("small", "int32")]))
    assert table.filter(filter_mask(where("small = 1"), table, lambda field: "a.b"))["small"].to_pylist() == [2]


def test_a_column_that_was_narrower_when_written_is_compared_all_the_same() -> None:
    table = pyarrow.table({"big": pyarrow.array([1, 2, None], "int32")})
    assert table.filter(filter_mask(where("big < 9999999999"), table, physical))["big"].to_pylist() == [1, 2]
    assert table.filter(filter_mask(where("big in (2, 9999999999)"), table, physical))["big"].to_pylist() == [2]
    assert table.filter(filter_mask(where("big not in (2, 9999999999)"), table, physical))["big"].to_pylist() == [1]


def test_the_longest_chain_that_a_filter_may_have_is_scanned(folder: Path, file: DataFileRef) -> None:
    bound = where(" or ".join(f"big != {at}" for at in range(TERMS)))
    assert kept(folder, file, NUMBERED, bound).num_rows > 40

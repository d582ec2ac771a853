"""Arrow keeps the rows that a filter's words are true of, in memory and scanning Parquet."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.filter import to_arrow, to_arrow_scan
from lakebed.arrow.types import file_schema
from lakebed.table.filter import Filter
from lakebed.table.filter_text import TERMS, parse_filter
from lakebed.table.types import Field
from lakebed.testing.filters import NAN, SCHEMA, condition, rows

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
    kept = TABLE.filter(to_arrow(where(asked.text), physical))
    assert kept["row"].to_pylist() == [at for at, keeps in enumerate(asked.kept(ROWS)) if keeps], asked.text


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows in Parquet, two to a row group, so that groups are skipped."""
    path: Path = tmp_path_factory.mktemp("filters") / "rows.parquet"
    pyarrow.parquet.write_table(TABLE, path, row_group_size=2)
    return path


@pytest.mark.parametrize("seed", range(200))
def test_a_scan_that_skips_row_groups_keeps_the_same_rows(seed: int, files: Path) -> None:
    asked = condition(Random(seed))
    bound = where(asked.text)
    scanned = pyarrow.dataset.dataset(files).to_table(filter=to_arrow_scan(bound, physical))
    kept = scanned.filter(to_arrow(bound, physical))
    assert kept["row"].to_pylist() == [at for at, keeps in enumerate(asked.kept(ROWS)) if keeps], asked.text


@pytest.mark.parametrize("text", ["share = 'NaN'", "share > 5", "share != 1", "share >= 'NaN'", "share not in (1)"])
def test_a_scan_keeps_nan_beside_equal_bounds(text: str, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"share": [1.0, NAN]}), tmp_path / "nan.parquet")
    scanned = pyarrow.dataset.dataset(tmp_path / "nan.parquet").to_table(filter=to_arrow_scan(where(text), physical))
    assert str(scanned.filter(to_arrow(where(text), physical))["share"].to_pylist()) == "[nan]"


def test_a_scan_skips_row_groups(files: Path) -> None:
    fragment = next(pyarrow.dataset.dataset(files).get_fragments())
    assert len(fragment.split_by_row_group()) == 30
    assert len(fragment.split_by_row_group(to_arrow_scan(where("big = 9223372036854775807"), physical))) < 20
    assert len(fragment.split_by_row_group(to_arrow_scan(where("share < -1e300 and wide > 1"), physical))) < 20


def test_a_column_is_called_what_it_is_in_the_files() -> None:
    table = pyarrow.table({"a.b": [1, 2], "small": [2, 1]}, pyarrow.schema([("a.b", "int32"), ("small", "int32")]))
    assert table.filter(to_arrow(where("small = 1"), lambda field: "a.b"))["small"].to_pylist() == [2]


def test_a_column_that_was_narrower_when_written_is_compared_all_the_same() -> None:
    table = pyarrow.table({"big": pyarrow.array([1, 2, None], "int32")})
    assert table.filter(to_arrow(where("big < 9999999999"), physical))["big"].to_pylist() == [1, 2]
    assert table.filter(to_arrow(where("big in (2, 9999999999)"), physical))["big"].to_pylist() == [2]
    assert table.filter(to_arrow(where("big not in (2, 9999999999)"), physical))["big"].to_pylist() == [1]


def test_the_longest_chain_that_a_filter_may_have_is_scanned(files: Path) -> None:
    bound = where(" or ".join(f"big != {at}" for at in range(TERMS)))
    assert pyarrow.dataset.dataset(files).to_table(filter=to_arrow_scan(bound, physical)).num_rows > 40

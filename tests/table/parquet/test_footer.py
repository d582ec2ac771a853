"""What is refused in a footer before Arrow sees it: each of these contradictions ended the process, or could."""

from datetime import time

import duckdb
import polars
import pyarrow
import pytest

from lakebed.errors import Invalid
from lakebed.table.parquet.footer import MAX_DEPTH, check_footer, footer_length
from tests.support.damage.mutate import footer_span
from tests.support.damage.parquet_files import nested_types, samples, written
from tests.support.damage.thrift import tree_of, with_tree

TABLE = pyarrow.table(
    {"id": [1, 2, 3], "text": ["a", "b", None], "sized": pyarrow.array([b"abc"] * 3, pyarrow.binary(3))}
)
SAMPLES = samples()
FILE = written(TABLE, write_page_index=True, bloom_filter_options={"id": True})


def checked(data):
    return check_footer(data[-footer_length(data, len(data)) :], len(data))


def changed(*path, data=FILE, **values):
    """The file with fields of its footer set, or unset by None."""
    tree = tree_of(data)
    struct = tree
    for part in path:
        struct = struct[part]
    struct.update(values)
    for name, value in values.items():
        if value is None:
            del struct[name]
    return with_tree(data, tree)


def refusal(data):
    with pytest.raises(Invalid) as caught:
        checked(data)
    return caught.value.problem


def chunk(number, *more):
    return ("row_groups", 0, "columns", number, *more)


@pytest.mark.parametrize("name", SAMPLES)
def test_files_of_other_writers_are_accepted(name):
    sample = SAMPLES[name]
    if name in ("encrypted", "signed"):
        assert "encrypted" in refusal(sample.data) or "bytes follow" in refusal(sample.data)
    else:
        assert checked(sample.data) == frozenset()
        assert checked(with_tree(sample.data, tree_of(sample.data))) == frozenset()


def test_files_of_duckdb_are_accepted(tmp_path):
    numbers = "(i % 99)::tinyint a, i::ubigint b, i::hugeint c, (i % 99)::decimal(4, 1) d, i::decimal(38, 3) e"
    times = "time '10:00' h, timestamp '2020-01-01' j, timestamptz '2020-01-01' k, '2020-01-01'::timestamp_ns l"
    others = "interval 1 day m, uuid() n, 'x' || i o, 'y'::blob p, 'a'::enum('a', 'b') q, '{}'::json r"
    nested = "null::int f, i % 2 = 0 g, [1, i] s, {'a': i, 'b': [i]} t, map {'k': i} u"
    for number, options in enumerate(("", ", parquet_version v2, row_group_size 2048, compression zstd")):
        path = tmp_path / f"{number}.parquet"
        rows = f"select {numbers}, {times}, {others}, {nested} from range(5000) t(i)"
        duckdb.sql(f"copy ({rows}) to '{path}' (format parquet{options})")
        assert checked(path.read_bytes()) == frozenset()


def test_files_of_polars_are_accepted(tmp_path):
    frame = polars.DataFrame(
        {
            "a": [1, None],
            "b": ["x", None],
            "c": [[1], []],
            "d": [{"x": 1}, None],
            "e": [time(1), None],
            "f": [b"", None],
        }
    ).with_columns(polars.lit(None).alias("g"), polars.col("a").cast(polars.Decimal(10, 2)).alias("h"))
    frame.write_parquet(tmp_path / "a.parquet", statistics="full")
    assert checked((tmp_path / "a.parquet").read_bytes()) == frozenset()


COLUMN = chunk(0, "column")
STATISTICS = chunk(0, "column", "statistics")
CHANGES = {
    "statistics shorter than a value": (STATISTICS, {"min_value": b"abc"}, "statistics of the column id have 3 bytes"),
    "statistics of no bytes": (STATISTICS, {"max_value": b""}, "have 0 bytes"),
    "old statistics": (STATISTICS, {"max": b"x" * 9}, "have 9 bytes"),
    "statistics longer than a fixed length": (chunk(2, "column", "statistics"), {"min": b"abcd"}, "have 4 bytes"),
    "more nulls than values": (STATISTICS, {"null_count": 4}, "null_count of 4 in 3 values"),
    "less than no nulls": (STATISTICS, {"null_count": -1}, "null_count of -1"),
    "no column in a chunk": (chunk(0), {"column": None}, "in another file"),
    "a chunk elsewhere": (chunk(0), {"file_path": b"x"}, "in another file"),
    "an encrypted chunk": (chunk(0), {"encrypted_column": b"x"}, "encrypted"),
    "another path": (COLUMN, {"path": [b"ie"]}, "another name or type"),
    "another type": (COLUMN, {"type": 1}, "another name or type"),
    "an unknown codec": (COLUMN, {"codec": 8}, "unknown codec or encoding"),
    "an unknown encoding": (COLUMN, {"encodings": [0, 1]}, "unknown codec or encoding"),
    "fewer values": (COLUMN, {"num_values": 2}, "2 values in 3 rows"),
    "pages before the file": (COLUMN, {"data_offset": 3}, "ends beyond the file"),
    "pages beyond the file": (COLUMN, {"compressed": 1 << 40}, "ends beyond the file"),
    "pages of less than no bytes": (COLUMN, {"compressed": -1}, "ends beyond the file"),
    "a bloom filter beyond the file": (COLUMN, {"bloom_length": 1 << 30}, "bloom filter of the column id ends"),
    "a page index beyond the file": (chunk(0), {"offset_index_offset": 1 << 40}, "page index of the column id ends"),
    "a histogram of other levels": (COLUMN, {"sizes": {"definitions": [1]}}, "1 counts of 2 levels"),
    "bytes of numbers": (COLUMN, {"sizes": {"bytes": 1}}, "a size of byte arrays"),
    "other rows": ((), {"num_rows": 4}, "4 rows by its footer, 3 by its row groups"),
    "less than no rows": (("row_groups", 0), {"num_rows": -3}, "-3 by its row groups"),
    "orders of other columns": ((), {"orders": [{"by_type": {}}]}, "1 orders of 3 columns"),
    "a signature": ((), {"signing_key": b"k"}, "encrypted columns"),
    "no root": ((), {"schema": []}, "no root"),
    "a root that is a column": (("schema", 0), {"type": 1}, "no root"),
    "too many children": (("schema", 0), {"children": 4}, "ends too early"),
    "too few children": (("schema", 0), {"children": 2}, "outside of the root"),
    "a column without a type": (("schema", 1), {"type": None}, "neither a type nor fields"),
    "a column of an unknown type": (("schema", 1), {"type": 8}, "the type 8"),
    "a column with fields": (("schema", 1), {"children": 1}, "1 fields"),
    "no length": (("schema", 3), {"length": 0}, "values of 0 bytes"),
    "an unknown repetition": (("schema", 1), {"repetition": 3}, "unknown repetition 3"),
    "no repetition": (("schema", 1), {"repetition": None}, "unknown repetition None"),
    "a name that is not UTF-8": (("schema", 1), {"name": b"\xff"}, "not UTF-8"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_footer_that_contradicts_itself_is_refused(name):
    path, values, problem = CHANGES[name]
    assert problem in refusal(changed(*path, **values))


def test_row_groups_without_all_columns_are_refused():
    columns = tree_of(FILE)["row_groups"][0]["columns"]
    assert "2 of 3 columns" in refusal(changed("row_groups", 0, columns=columns[:2]))


def test_bounds_of_a_fixed_length_that_a_writer_cut_are_not_asked_for():
    cut = changed(*chunk(2, "column", "statistics"), min_value=b"ab", max_value=b"ac")
    assert checked(cut) == {(0, 2)}


def test_a_schema_that_would_exhaust_the_stack_is_refused():
    tree = tree_of(FILE)
    tree["schema"] = [{"name": b"x", "repetition": 1, "children": 1}] * 2_000
    assert f"more than {MAX_DEPTH} levels" in refusal(with_tree(FILE, tree))


def test_a_row_group_without_rows_is_accepted():
    assert checked(written(TABLE.slice(0, 0))) == frozenset()


def test_nested_columns_have_as_many_levels_as_their_histograms():
    assert checked(written(nested_types(), write_page_index=True)) == frozenset()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "too short"),
        (b"PAR1" + bytes(4), "too short"),
        (FILE[:-1], "does not end with PAR1"),
        (FILE[:-4] + b"PARE", "encrypted"),
        (FILE[:-8] + b"\xff\xff\xff\x7fPAR1", "longer than the file"),
        (FILE[:-8] + bytes(4) + b"PAR1", "ends too early"),
    ],
)
def test_a_file_without_a_footer_is_refused(data, problem):
    assert problem in refusal(data)


def test_every_cut_of_a_footer_is_refused():
    start, end = footer_span(FILE)
    for length in range(end - start - 8):
        footer = FILE[start : start + length]
        refusal(FILE[:start] + footer + length.to_bytes(4, "little") + b"PAR1")

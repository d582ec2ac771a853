"""What is loaded: CSV, JSON lines or Parquet, from files, folders or the standard input, as Arrow has it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.dataset
import pyarrow.parquet

from lakebed.arrow.types import check_columns
from lakebed.cli.column_types import Types, typed
from lakebed.cli.csv_rows import read_csv
from lakebed.cli.json_rows import read_json
from lakebed.errors import Invalid, NotFound
from lakebed.table.parquet.footer import END, check_footer, footer_length

FORMATS = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
STDIN = "-"
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd")
"""How gzip, bzip2 and Zstandard begin."""
ADVICE = "Say what it is: --format csv, json or parquet."
_REMEDIES: tuple[tuple[str, str], ...] = (
    ("In CSV column #", "A column's type can be given: --column zip:string."),
    ("a column comes twice", "Give each column a name of its own, in the first line."),
    ("a column has no name", "Give each column a name of its own, in the first line."),
    ("not UTF-8", "Convert the file, such as by iconv -f LATIN1 -t UTF-8; or keep bytes: --column NAME:binary."),
    (
        "one column",
        "Say what separates the fields: --delimiter ';', or --delimiter tab; or --delimiter , if it is one.",
    ),
    ("Empty CSV file", "The first line has the names of the columns."),
    ("Empty JSON file", "It has nothing to load."),
    ("CSV conversion to ", "A CSV has no values of this type: load lines of JSON, or Parquet."),
    ("CSV parse error", "Check the lines. If the fields are not separated by commas, use --delimiter."),
    ("JSON parse error: Column() changed from object to array", "Write one object a line: jq -c '.[]' FILE"),
    ("straddling object", "A line has more than 1 MB: cut it into smaller rows, or load Parquet."),
    ("JSON parse error: Column(", "Give a key one value in a line, and values of one type in all lines."),
    ("JSON parse error", "Each line has to be an object of JSON."),
    ("Parquet ", "Check that it is a whole Parquet file, or say what it is: --format csv or json."),
    ("straddling", "Each line has to be an object of JSON."),
)
"""How what Arrow says begins, and what to do then."""


def read_source(paths: Sequence[str], format: str | None, delimiter: str | None, types: Types) -> Any:
    """The rows of files, or of the standard input: a table of Arrow, or a dataset of Parquet files."""
    if list(paths) == [STDIN]:
        return _of_stream(sys.stdin.buffer.read(), format, delimiter, types, "the standard input")
    files = [file for path in paths for file in _files(path, format)]
    _check_names(files)
    if len(files) == 1 and not files[0].is_file():  # a pipe, such as `<(zcat orders.csv.gz)`: it can be read once
        return _of_stream(files[0].read_bytes(), format, delimiter, types, str(files[0]))
    formats = {format or format_of(file) for file in files}
    if len(formats) != 1:
        raise Invalid("files of several formats", found=", ".join(sorted(formats)), advice="Load each by itself.")
    if formats == {"parquet"}:
        return _parquet(paths, files)
    [one] = formats
    tables = [_read(str(file), one, delimiter, types, str(file)) for file in files]
    return typed(tables[0] if len(tables) == 1 else _joined(tables), types)


def _of_stream(read: bytes, format: str | None, delimiter: str | None, types: Types, name: str) -> pyarrow.Table:
    """The rows of what has no name that says its format."""
    if read.startswith(COMPRESSED):
        advice = "Decompress it on the way, as by gzip -dc, or load it as a file whose name says what it is."
        raise Invalid("the rows are compressed", subject=name, advice=advice)
    data = pyarrow.BufferReader(read)
    return typed(_read(data, format or _sniffed(data), delimiter, types, name), types)


def format_of(path: Path) -> str:
    """The format that a file's name says."""
    found = _said_format(path)
    if found is None:
        raise Invalid("the name does not say which format this is", subject=str(path), advice=ADVICE)
    return found


def is_tab_separated(name: str) -> bool:
    """Whether a file's name says that its fields are separated by tabs."""
    return ".tsv" in (suffix.lower() for suffix in Path(name).suffixes)


def _said_format(path: Path) -> str | None:
    suffixes = (suffix.lower() for suffix in reversed(path.suffixes))
    return next((FORMATS[suffix] for suffix in suffixes if suffix in FORMATS), None)


def _check_names(files: Sequence[Path]) -> None:
    for file in files:
        try:
            str(file).encode()
        except UnicodeEncodeError:
            raise Invalid("the file's name is not UTF-8", subject=repr(str(file)), advice="Rename it.") from None


def _files(text: str, format: str | None) -> list[Path]:
    path = Path(text).expanduser()
    try:
        if not path.exists():
            raise NotFound("there is no such file", subject=text, advice="Check the path.")
        if not path.is_dir():
            return [path]
        found = sorted(one for one in path.rglob("*") if one.is_file() and not _is_hidden(one.relative_to(path)))
    except (OSError, ValueError) as error:  # a name that is too long, a folder of somebody else, a NUL
        raise Invalid("the files can't be found", subject=f"{text:.200}", found=str(error)[:200]) from error
    chosen = [one for one in found if _said_format(one) or format]
    if not chosen:
        raise NotFound("there is no file to load in this folder", subject=text, expected="CSV, JSON lines or Parquet")
    return chosen


def _is_hidden(path: Path) -> bool:
    """Whether a file is not for readers, such as `_delta_log/0.json` and what Spark has not finished."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _read(source: Any, format: str, delimiter: str | None, types: Types, name: str) -> pyarrow.Table:
    try:
        if format == "csv":
            found = read_csv(source, delimiter, types, "\t" if is_tab_separated(name) else ",")
        elif format == "json":
            found = read_json(source, types)
        else:
            _check_footer(source)
            source.seek(0)
            found = pyarrow.parquet.read_table(source)
        check_columns(found.schema)
        return found
    except UnicodeDecodeError as error:
        raise Invalid("a column's name is not UTF-8", subject=name, found=f"{error.object!r:.80}") from error
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError) as error:
        problem = str(error).splitlines()[0]
        advice = next((remedy for begin, remedy in _REMEDIES if problem.startswith(begin)), ADVICE)
        shown = {"csv": "CSV", "json": "lines of JSON", "parquet": "Parquet"}[format]
        raise Invalid(f"the rows can't be read as {shown}", subject=name, found=problem, advice=advice) from error
    except OSError as error:
        raise Invalid("the file can't be read", subject=name, found=str(error).splitlines()[0]) from error


def _joined(tables: Sequence[pyarrow.Table]) -> pyarrow.Table:
    try:
        return pyarrow.concat_tables(tables, promote_options="permissive")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        advice = "Give a column one type for all files: --column NAME:string."
        raise Invalid("the files do not fit together", found=str(error).splitlines()[0], advice=advice) from error


def _parquet(paths: Sequence[str], files: Sequence[Path]) -> Any:
    """Parquet files as a dataset, which need not fit in memory; folders such as `month=1` are a column."""
    names, folder = [str(file) for file in files], Path(paths[0]).expanduser()
    try:
        for file in files:
            with pyarrow.OSFile(str(file)) as opened:
                _check_footer(opened, str(file))
        if len(paths) == 1 and folder.is_dir():
            return pyarrow.dataset.dataset(names, format="parquet", partitioning="hive", partition_base_dir=str(folder))
        return pyarrow.dataset.dataset(names, format="parquet")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OSError) as error:
        raise Invalid(
            "the rows can't be read as Parquet", subject=paths[0], found=str(error).splitlines()[0], advice=ADVICE
        ) from error


def _check_footer(source: Any, name: str = "the standard input") -> None:
    """Refuse a damaged footer before Arrow sees it, which might end the process."""
    size = source.size()
    source.seek(max(0, size - END))
    try:
        length = footer_length(source.read(), size)
        source.seek(size - length)
        check_footer(source.read(), size)
    except Invalid as error:
        error.subject = name
        raise


def _sniffed(data: pyarrow.BufferReader) -> str:
    """The format of what comes by the standard input, by its first bytes."""
    begin = data.read(64).lstrip()
    data.seek(0)
    return "parquet" if begin.startswith(b"PAR1") else "json" if begin.startswith((b"{", b"[")) else "csv"

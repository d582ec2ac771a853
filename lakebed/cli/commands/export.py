"""The word that brings rows out of the lake: export."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from lakebed.cli import arguments
from lakebed.cli.arrow_rows import arrow_rows
from lakebed.cli.session import Session, name_of, with_session
from lakebed.cli.settings import word
from lakebed.cli.sources import STDIN, format_of, is_tab_separated
from lakebed.cli.values import byte_text, counted, json_line
from lakebed.errors import AlreadyExists, Invalid, NotFound

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""How a file is compressed, by the end of its name; `load` reads the same."""


@word(
    "lakebed export sales.orders orders.csv",
    "lakebed export sales.orders@dev#17 orders.parquet --where 'price > 100'",
    "lakebed export sales.orders - --format json | jq .id",
    "lakebed export sales.orders exported --format iceberg",
)
@arguments.table
@click.argument("path", metavar="FILE")
@click.option("--format", type=click.Choice(["csv", "json", "parquet", "iceberg"]), help="Else by the file's name.")
@click.option("-c", "--columns", metavar="NAMES", help="These columns, such as id,price.")
@click.option("--replace", is_flag=True, help="Replace a file that is there.")
@arguments.where
@with_session
def export_word(
    session: Session,
    table: str,
    path: str,
    format: str | None,
    columns: str | None,
    replace: bool,
    where: str | None,
) -> None:
    """Write a table's rows to a file: CSV, JSON lines or Parquet; or its metadata as Iceberg's. `-` is the output."""
    found = session.table(table)
    if format == "iceberg":
        document = found.export_iceberg(path)
        session.output.record({"table": name_of(found), "path": document, "rows": None, "bytes": None})
        return
    scan = found.scan(where, None if columns is None else [name.strip() for name in columns.split(",")])
    chosen = format or ("csv" if path == STDIN else format_of(Path(path)))
    delimiter = "\t" if is_tab_separated(path) else ","
    if path == STDIN:
        _write(sys.stdout.buffer, scan.to_batches(), chosen, delimiter, _uncounted)
        return
    target = Path(path).expanduser()
    if target.is_dir():
        raise Invalid("this is a folder", subject=path, advice=f"Name a file in it: {target / 'rows.csv'}")
    if target.is_file() and not _is_stream(target) and not replace:
        raise AlreadyExists("there is such a file", subject=path, advice="Use --replace, or name another one.")
    total = scan.count() if where is None else None
    with session.output.working(f"exporting {table}", total) as done, _opened(target, chosen) as file:
        rows = _write(file, scan.to_batches(), chosen, delimiter, done)
    size = os.stat(target).st_size
    fields = {"table": name_of(found), "path": path, "rows": rows, "bytes": size}
    if session.output.is_json:
        session.output.json(fields)
    elif not session.output.is_quiet:
        session.output.text(f"{counted(rows, 'row')} of {name_of(found)} in {path}, {byte_text(size)}")


def _uncounted(rows: int) -> None:
    """Nobody sees how many rows are done."""


@contextmanager
def _opened(target: Path, format: str) -> Iterator[Any]:
    """The file of a path, compressed if its name says so; a device or a pipe is written, and never replaced."""
    codec = None if format == "parquet" else CODECS.get(target.suffix.lower())
    if _is_stream(target):
        with open(target, "wb") as file, _compressed(file, codec) as stream:
            yield stream
        return
    with _replacing(Path(os.path.realpath(target))) as file, _compressed(file, codec) as stream:
        yield stream


def _is_stream(target: Path) -> bool:
    """Whether this is a device or a pipe, such as /dev/stdout, wherever that leads."""
    return target.exists() and (not target.is_file() or target.is_relative_to("/dev"))


@contextmanager
def _compressed(file: Any, codec: str | None) -> Iterator[Any]:
    if codec is None:
        yield file
        return
    with pyarrow.CompressedOutputStream(file, codec) as stream:
        yield stream


@contextmanager
def _replacing(target: Path) -> Iterator[Any]:
    """A file that becomes the one of this path when all is written; after an error nothing is left of it."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        with open(partial, "wb") as file:
            yield file
        os.replace(partial, target)
    except FileNotFoundError as error:
        raise NotFound("there is no folder for this file", subject=str(target), advice="Create it.") from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _write(
    file: Any, reader: pyarrow.RecordBatchReader, format: str, delimiter: str, done: Callable[[int], None]
) -> int:
    rows = 0
    with _writer(file, reader.schema, format, delimiter) as write:
        for batch in reader:
            write(batch)
            done(batch.num_rows)
            rows += batch.num_rows
    file.flush()
    return rows


@contextmanager
def _writer(file: Any, schema: pyarrow.Schema, format: str, delimiter: str) -> Iterator[Any]:
    if format == "json":
        yield lambda batch: [file.write(line) for line in _json_lines(batch, schema.names)]
        return
    options = {"write_options": pyarrow.csv.WriteOptions(delimiter=delimiter)} if format == "csv" else {}
    kind = pyarrow.csv.CSVWriter if format == "csv" else pyarrow.parquet.ParquetWriter
    try:
        with kind(file, schema, **options) as writer:
            yield writer.write_batch
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, pyarrow.ArrowTypeError) as error:
        raise Invalid(
            f"these rows can't be written as {format}", found=str(error).splitlines()[0], advice="Use --format json."
        ) from error


def _json_lines(batch: pyarrow.RecordBatch, names: list[str]) -> Iterator[bytes]:
    for row in arrow_rows([batch]):
        yield f"{json_line(dict(zip(names, row, strict=True)))}\n".encode()

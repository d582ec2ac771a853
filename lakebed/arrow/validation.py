"""Rows from outside, validated in full before anything computes with them.

Arrow trusts whoever made its buffers: an offset beyond them, a decimal with too many digits or text that is not UTF-8
is found by the first reader that looks, long after the commit, or ends the process. So each batch is validated once,
where it comes in: 1M texts take 5 ms, 1M decimals 3, whole numbers nothing.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow

from lakebed.arrow.types import is_list
from lakebed.errors import Invalid
from lakebed.table.types.types import ELEMENT, KEY, VALUE

_ADVICE = "Nothing was changed. Make the column from its Python values, which PyArrow then checks."


@dataclass(frozen=True, slots=True)
class ValidRows:
    """Rows that were validated already: `reader_of` takes them as they are."""

    reader: pyarrow.RecordBatchReader


def validated(reader: pyarrow.RecordBatchReader) -> pyarrow.RecordBatchReader:
    """The same rows. `Invalid` names the column of the first batch that is not what its type says.

    It is `Invalid` too if Arrow can't read on; what a caller's own generator raises goes through.
    """
    return pyarrow.RecordBatchReader.from_batches(reader.schema, _validated(reader))


def check_values(batch: pyarrow.RecordBatch) -> None:
    """`Invalid` names the first column with a value that its type can't have."""
    try:
        batch.validate(full=True)
    except pyarrow.ArrowInvalid as error:
        raise _damaged(batch, error) from error


def _validated(reader: pyarrow.RecordBatchReader) -> Iterator[pyarrow.RecordBatch]:
    form = reader.schema
    for batch in _batches(reader):
        check_values(batch)
        yield batch if batch.schema.types == form.types and batch.schema.names == form.names else _cast(batch, form)


def _batches(reader: pyarrow.RecordBatchReader) -> Iterator[pyarrow.RecordBatch]:
    with unreadable_rows():
        yield from reader


@contextmanager
def unreadable_rows() -> Iterator[None]:
    """Raise what Arrow says of rows that it can't read as `Invalid`; of a damaged file that is an error of the system.

    Errors of the system have a number, Arrow's own have none. Those of a caller's own generator go through.
    """
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and (error.errno is not None or _is_of_caller(error)):
            raise
        raise Invalid(
            "Arrow can't read the rows to their end",
            found=str(error),
            advice="Nothing was changed. Look at where the rows come from, or cast their columns first.",
        ) from error


def _is_of_caller(error: OSError) -> bool:
    """Whether Python code that is not Lakebed's raised it: Arrow's own come from Cython, whose files end otherwise."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    is_python = trace is not None and trace.tb_frame.f_code.co_filename.endswith(".py")
    return is_python and module.partition(".")[0] not in ("lakebed", "pyarrow")


def _children(column: pyarrow.Array) -> list[tuple[str, pyarrow.Array]]:
    """The arrays inside an array of a type that tables have, each with what follows in its path."""
    match column.type.id:
        case pyarrow.lib.Type_STRUCT:
            return [(f".{field.name}", column.field(place)) for place, field in enumerate(column.type)]
        case pyarrow.lib.Type_MAP:
            return [(f".{KEY}", column.keys), (f".{VALUE}", column.items)]
        case pyarrow.lib.Type_DICTIONARY:
            return [("", column.indices), ("", column.dictionary)]
    if isinstance(column, pyarrow.ExtensionArray):
        return [("", column.storage)]
    return [(f".{ELEMENT}", column.values)] if is_list(column.type) else []


def _cast(batch: pyarrow.RecordBatch, form: pyarrow.Schema) -> pyarrow.RecordBatch:
    """A batch with the columns that its reader promised: Arrow does not compare them."""
    if any(
        _inner_names(found.type) != _inner_names(wanted.type) for found, wanted in zip(batch.schema, form, strict=False)
    ):
        raise _other_columns(batch, form)  # Arrow's cast finds no value for a field of another name, and gives nulls
    try:
        return batch.cast(form)
    except (pyarrow.ArrowException, ValueError) as error:
        raise _other_columns(batch, form) from error


def _inner_names(type: pyarrow.DataType) -> list[Any]:
    """The names of the fields inside structs, wherever these are."""
    named = pyarrow.types.is_struct(type)
    inner = [type.field(place) for place in range(type.num_fields)]
    return [(field.name if named else "", _inner_names(field.type)) for field in inner]


def _other_columns(batch: pyarrow.RecordBatch, form: pyarrow.Schema) -> Invalid:
    return Invalid(
        "a batch has other columns than the reader that it comes from",
        expected=_columns(form),
        found=_columns(batch.schema),
        advice="Give all batches the reader's schema.",
    )


def _columns(form: pyarrow.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in form)


def _damaged(batch: pyarrow.RecordBatch, error: pyarrow.ArrowInvalid) -> Invalid:
    columns = zip(batch.schema.names, batch.columns, strict=True)
    path, column, reason = next(_broken(columns), ("", None, str(error)))
    if "UTF8" in reason:
        problem, advice = "a value is not text", "Decode it first, or keep bytes in a column of type binary."
    elif "acceptable range" in reason:
        problem, advice = "a value is not a time of day", ""
    else:
        problem, advice = "a value does not fit the column", _ADVICE
    expected = "UTF-8" if "UTF8" in reason else None if column is None else column.type
    return Invalid(problem, subject=path, expected=expected, found=reason, advice=advice)


def _broken(columns: Iterable[tuple[str, pyarrow.Array]]) -> Iterator[tuple[str, pyarrow.Array, str]]:
    """The arrays that can't be validated, the innermost first."""
    for path, column in columns:
        try:
            column.validate(full=True)
        except pyarrow.ArrowInvalid as error:
            if _is_whole(column):  # what is inside a broken array can't be looked at
                yield from _broken((f"{path}{name}", child) for name, child in _children(column))
            yield path, column, str(error)


def _is_whole(column: pyarrow.Array) -> bool:
    """Whether an array's lengths and buffers fit together, whatever its values are."""
    try:
        column.validate()
    except pyarrow.ArrowInvalid:
        return False
    return True

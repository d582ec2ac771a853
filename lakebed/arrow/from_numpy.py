"""Arrow's arrays as NumPy's and back, without pandas.

`pyarrow.array` of an array, and `to_numpy`, import pandas where it is installed, which takes 0.4 s of CPU.
"""

from typing import Any

import numpy
import pyarrow
from numpy.typing import NDArray


def int64_array(values: NDArray[Any]) -> pyarrow.Int64Array:
    """Whole numbers; the memory is shared."""
    whole = numpy.ascontiguousarray(values, numpy.int64)
    return pyarrow.Array.from_buffers(pyarrow.int64(), len(whole), [None, pyarrow.py_buffer(whole)])


def bool_array(values: NDArray[numpy.bool_]) -> pyarrow.BooleanArray:
    """Flags, eight in a byte."""
    bits = numpy.packbits(values, bitorder="little")
    return pyarrow.Array.from_buffers(pyarrow.bool_(), len(values), [None, pyarrow.py_buffer(bits)])


def int64_values(column: pyarrow.Array) -> NDArray[numpy.int64]:
    """Whole numbers without nulls; the memory is shared."""
    assert pyarrow.types.is_int64(column.type)
    assert not column.null_count
    data = column.buffers()[1]
    if data is None:
        return numpy.empty(0, numpy.int64)
    return numpy.frombuffer(data, numpy.int64, len(column), column.offset * 8)


def bool_values(column: pyarrow.BooleanArray) -> NDArray[numpy.bool_]:
    """Flags without nulls."""
    assert pyarrow.types.is_boolean(column.type)
    assert not column.null_count
    data = column.buffers()[1]
    if data is None:
        return numpy.empty(0, numpy.bool_)
    end = column.offset + len(column)
    bits = numpy.frombuffer(data, numpy.uint8, (end + 7) // 8)
    return numpy.unpackbits(bits, count=end, bitorder="little")[column.offset :].astype(numpy.bool_)

"""Arrow's arrays of NumPy's, without pandas: `pyarrow.array` of an array imports it, which takes 0.4 s of CPU."""

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

"""Which ids the entries of files list, and in what order: of their statistics, or of their partition's values.

Most files of a table list the same ones, so each distinct list is kept once.
"""

from dataclasses import dataclass
from typing import Final

import numpy
import pyarrow
from numpy.typing import NDArray

from lakebed.errors import Corrupt

LAYOUT_TYPE: Final = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layouts:
    """The distinct lists of ids, and for each row which one it has."""

    lists: tuple[Ids, ...]
    of_row: NDArray[numpy.int32]

    def has(self, field_id: int) -> NDArray[numpy.bool_]:
        """For each row whether its list has the id."""
        return numpy.array([field_id in one for one in self.lists], numpy.bool_)[self.of_row]

    def ids(self) -> list[int]:
        """Every id of any list, in order."""
        return sorted({one for ids in self.lists for one in ids})

    def groups(self, rows: NDArray[numpy.int64]) -> list[tuple[Ids, list[int]]]:
        """The lists that these rows have, each with the places in `rows` that have it."""
        of_row = self.of_row[rows]
        return [(self.lists[one], numpy.flatnonzero(of_row == one).tolist()) for one in numpy.unique(of_row).tolist()]

    def array(self) -> pyarrow.DictionaryArray:
        """As a column: the ids as text, `1 2 3`."""
        texts = [" ".join(map(str, ids)) for ids in self.lists]
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(self.of_row), pyarrow.array(texts, pyarrow.string()))


def layouts_of(owners: NDArray[numpy.int64], ids: NDArray[numpy.int64], rows: int) -> Layouts:
    """The layouts of this many rows; `owners` says of which row each id is, in order."""
    counts = numpy.bincount(owners, minlength=rows)
    starts = numpy.cumsum(counts) - counts
    lists: list[Ids] = []
    of_row = numpy.zeros(rows, numpy.int32)
    for count in numpy.unique(counts).tolist():
        alike = numpy.flatnonzero(counts == count)
        found, which = _distinct(ids[starts[alike][:, None] + numpy.arange(count)])
        of_row[alike] = which + len(lists)
        lists += found
    return Layouts(tuple(lists), of_row)


def layouts_from(column: pyarrow.DictionaryArray) -> Layouts:
    """The layouts that a column holds."""
    try:
        lists = tuple(tuple(map(int, text.split())) for text in column.dictionary.to_pylist())
        return Layouts(lists, column.indices.to_numpy(zero_copy_only=True))
    except (AttributeError, ValueError, pyarrow.ArrowInvalid) as error:
        raise Corrupt("a column of layouts has other text than numbers", found=str(error)) from error


def _distinct(lists: NDArray[numpy.int64]) -> tuple[list[Ids], NDArray[numpy.int64]]:
    """The distinct ones of lists of one length, and which one each is."""
    if (lists == lists[0]).all():
        return [tuple(lists[0].tolist())], numpy.zeros(len(lists), numpy.int64)
    found, which = numpy.unique(lists, axis=0, return_inverse=True)
    return [tuple(one) for one in found.tolist()], which.reshape(-1)

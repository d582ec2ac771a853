"""How files are written: how large they and their row groups get, and which columns have bloom filters."""

from dataclasses import dataclass
from typing import Any, Final

from lakebed.errors import Invalid
from lakebed.table.bloom import FPP, unblocked_fpp
from lakebed.table.bloom_values import can_have_bloom
from lakebed.table.schema import Schema
from lakebed.table.types import leaves

_MOST_ROWS: Final = 1 << 30  # of a row group: a chunk's pages are counted in 32 bits


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Sizes at which a file or a row group is full, and the ids of the fields that have bloom filters.

    `group_bytes` are counted in memory, `file_bytes` as they are in the file.
    """

    file_bytes: int = 128 << 20
    group_bytes: int = 64 << 20
    group_rows: int = 1 << 17  # a point read in a file of 1M rows takes 15 ms, with groups of 1M 100; a scan the same
    blooms: frozenset[int] = frozenset()
    bloom_fpp: float = FPP

    def __post_init__(self) -> None:
        for name in ("file_bytes", "group_bytes", "group_rows"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise Invalid("a size to write is no number above 0", subject=name, found=repr(value))
        if self.group_rows > _MOST_ROWS:
            raise Invalid("a row group has too many rows", expected=f"at most {_MOST_ROWS}", found=self.group_rows)
        unblocked_fpp(self.bloom_fpp)  # refuses what is no rate


DEFAULTS: Final = WriteOptions()


def bloom_options(options: WriteOptions, schema: Schema) -> dict[str, Any]:
    """What Arrow is told of bloom filters; `Invalid` for a column that can't have one. One that is gone has none.

    Arrow makes each filter as small as the values of its row group allow, so that the largest group alone counts.
    """
    rate = {"ndv": options.group_rows, "fpp": unblocked_fpp(options.bloom_fpp)}
    paths = {way[-1].id: way for way in leaves(schema.fields) if can_have_bloom(way[-1].type)}
    for id in sorted(options.blooms):
        if id in schema.ways and id not in paths:
            expected = "a column, not in a list or map, of any type but boolean, list, map and struct"
            raise Invalid("a column can't have a bloom filter", subject=schema.path_of(id), expected=expected)
    ways = [paths[id] for id in sorted(options.blooms) if id in paths]
    return {".".join(one.physical_name for one in way): rate for way in ways}

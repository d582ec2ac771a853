"""The bloom filters of a file's row groups: that they are whole, and which row groups they rule out."""

from collections.abc import Callable, Iterator, Sequence

from lakebed.errors import Corrupt
from lakebed.table.filter.filter import And, Comparison, Filter, Leaf, OneOf, Operator, Or, Value
from lakebed.table.manifest.frame import crc32c
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.plan.pruning import block_entry, is_within, may_match
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.statistics.bloom import BloomFilter, parse_bloom
from lakebed.table.statistics.bloom_values import possible_bytes
from lakebed.table.statistics.column import known_column

Read = Callable[[str, int, int], bytes]
"""Reads of a file, by its path, from a place on that many bytes."""


def seal_blooms(file: DataFileRef, read: Read) -> None:
    """Write into a file's entry the checksums of its bloom filters, without which none is used."""
    for known in _with_bloom(file):
        known.bloom_checksum = crc32c(read(file.path, known.bloom_offset, known.bloom_length))


def bloom_matches(
    filter: Filter, file: DataFileRef, blocks: Sequence[int], read: Read, written: Schema | None = None
) -> tuple[int, ...]:
    """Those of the row groups that may match by their bloom filters too; a file without blocks has the one, 0.

    A filter is read only where the statistics leave the answer open, and at most once. One that is absent, of a kind
    that is not known here, or has no checksum in the entry rules nothing out: a bit that was lost would lose rows, and
    Parquet has no checksum of it. One whose checksum is another is `Corrupt`.
    """
    return tuple(number for number in blocks if _Block(filter, file, number, read, written).may_match(filter))


def _with_bloom(file: DataFileRef) -> Iterator[ColumnStatistics]:
    for columns in [file.statistics, *(block.columns for block in file.blocks)]:
        yield from (one for one in columns if one.HasField("bloom_offset") and one.HasField("bloom_length"))


class _Block:
    """A row group and those of its bloom filters that were read."""

    def __init__(self, filter: Filter, file: DataFileRef, number: int, read: Read, written: Schema | None) -> None:
        self._entry = block_entry(filter, file, number)
        self._number = number
        self._read = read
        self._written = written
        self._blooms: dict[int, BloomFilter | None] = {}

    def may_match(self, filter: Filter) -> bool:
        if not may_match(filter, self._entry, self._written):
            return False
        match filter:
            case And(parts):
                return all(self.may_match(part) for part in parts)
            case Or(parts):
                return any(self.may_match(part) for part in parts)
            case Comparison(_, Operator.EQUAL, value):
                return self._may_have(filter, (value,))
            case OneOf(_, values):
                return self._may_have(filter, values)
            case _:
                return True

    def _may_have(self, leaf: Leaf, values: Sequence[Value]) -> bool:
        bloom = self._bloom(leaf)
        if bloom is None:
            return True
        known = known_column(leaf, self._entry, self._written)
        within = [one for one in values if is_within(one, known.lower, known.upper)]
        return bloom.may_contain_any([data for one in within for data in possible_bytes(leaf.field, one)])

    def _bloom(self, leaf: Leaf) -> BloomFilter | None:
        if leaf.field.id not in self._blooms:
            self._blooms[leaf.field.id] = self._load(leaf)
        return self._blooms[leaf.field.id]

    def _load(self, leaf: Leaf) -> BloomFilter | None:
        for known in _with_bloom(self._entry):
            if known.field_id == leaf.field.id and known.HasField("bloom_checksum"):
                data = self._read(self._entry.path, known.bloom_offset, known.bloom_length)
                if crc32c(data) != known.bloom_checksum:
                    subject = f"{self._entry.path}, column {dotted_path(leaf.way)}, row group {self._number}"
                    expected, found = f"a checksum of {known.bloom_checksum:08x}", f"{crc32c(data):08x}"
                    raise Corrupt("a bloom filter was changed", subject=subject, expected=expected, found=found)
                return parse_bloom(data)
        return None

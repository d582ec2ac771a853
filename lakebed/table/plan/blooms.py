"""The bloom filters of a file's row groups: their checksums, and the row groups that they rule out."""

from collections.abc import Callable, Iterator, Sequence

from lakebed.errors import Corrupt
from lakebed.table.filter.filter import And, Comparison, Filter, Leaf, OneOf, Operator, Or, Value
from lakebed.table.manifest.frame import crc32c
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.plan.pruning import is_within, may_match, row_group_entry
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.statistics.bloom import BloomFilter, parse_bloom
from lakebed.table.statistics.bloom_values import possible_bytes
from lakebed.table.statistics.column import known_column

Read = Callable[[str, int, int], bytes]
"""(path, offset, length) -> bytes of a file"""


def seal_blooms(file: DataFileRef, read: Read) -> None:
    """Set the checksums of a file's bloom filters in its entry; a filter without one is not used."""
    for known in _with_bloom(file):
        known.bloom_checksum = crc32c(read(file.path, known.bloom_offset, known.bloom_length))


def bloom_matches(
    filter: Filter, file: DataFileRef, row_groups: Sequence[int], read: Read, written: Schema | None = None
) -> tuple[int, ...]:
    """The row groups, of those given, that may match by their bloom filters too; 0 if the entry lists none.

    A bloom filter is read only where the statistics leave the answer open, and at most once. It rules nothing out if it
    is absent, of an unknown kind, or without a checksum in the entry: a lost bit would lose rows, and Parquet itself
    has no checksum of it. If the checksum differs, the filter is `Corrupt`.
    """
    return tuple(number for number in row_groups if _RowGroup(filter, file, number, read, written).may_match(filter))


def _with_bloom(file: DataFileRef) -> Iterator[ColumnStatistics]:
    for columns in [file.statistics, *(row_group.columns for row_group in file.blocks)]:
        yield from (known for known in columns if known.HasField("bloom_offset") and known.HasField("bloom_length"))


class _RowGroup:
    """A row group and the bloom filters that were read of it."""

    def __init__(self, filter: Filter, file: DataFileRef, number: int, read: Read, written: Schema | None) -> None:
        self._entry = row_group_entry(filter, file, number)
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
        within = [value for value in values if is_within(value, known.lower, known.upper)]
        return bloom.may_contain_any([data for value in within for data in possible_bytes(leaf.field, value)])

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

"""What reads damaged bytes: each target takes a seed, damages something, and says what its reader made of it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from uuid import uuid4

import pyarrow

from lakebed.arrow.add_files import added_files
from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.write.inline import Inlined, inline
from lakebed.arrow.write.write import write
from lakebed.catalog.data.deletion_vectors import write_vectors
from lakebed.catalog.data.row_sources import Sources
from lakebed.errors import LakebedError
from lakebed.files import LocalFiles
from lakebed.table.entries.object import column_from, column_payload
from lakebed.table.manifest.locations import Location
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.parquet.thrift import Malformed
from lakebed.table.partition.spec import UNPARTITIONED
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema, with_ids
from tests.support.damage.mutate import body_span, footer_span, mutated, same_size
from tests.support.damage.parquet_files import EVERY, NESTED, Sample, every_type, nested_types, samples
from tests.support.damage.thrift import with_changed_field
from tests.support.sources import sources_of

RIGHT = "right"
OTHER = "other"
"""Rows that were not written, without an error: allowed only where no checksum covers what was damaged."""


class Target(ABC):
    """Reads something damaged; an error that is not Lakebed's is for the caller to see."""

    def __init__(self, folder: Path) -> None:
        self.files = LocalFiles(folder)

    def attempt(self, seed: int) -> str:
        """`right`, `other`, or the kind of Lakebed's error."""
        try:
            return RIGHT if self.is_right(Random(seed)) else OTHER
        except LakebedError as error:
            return error.kind

    @abstractmethod
    def is_right(self, chance: Random) -> bool:
        """Damage something and read it: whether the rows are those that were written."""


def scanned(sources: Sources, schema: Schema, entries: Sequence[DataFileRef]) -> pyarrow.Table:
    """The rows of entries, which have to be sound: Arrow's own checks find no fault."""
    rows = Scan(sources, schema, pruned_plan([PlannedFile(entry) for entry in entries])).to_arrow()
    rows.validate(full=True)
    return rows


class Strangers(Target):
    """Files of other writers, damaged before they are added."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "lake")  # which makes the folder
        self.path = folder / "theirs.parquet"
        self.samples = list(samples().values())
        self.expected = [self._expected(sample) for sample in self.samples]

    def is_right(self, chance: Random) -> bool:
        number = chance.randrange(len(self.samples))
        rows = self._added(self.damaged(self.samples[number].data, chance), self.samples[number])
        return self.expected[number] is not None and rows.equals(self.expected[number])

    def damaged(self, data: bytes, chance: Random) -> bytes:
        return mutated(data, chance, footer_span(data))

    def _added(self, data: bytes, sample: Sample) -> pyarrow.Table:
        self.path.write_bytes(data)
        schema = with_ids(Schema(sample.columns), 0, 1)
        entries = added_files(self.files, schema, UNPARTITIONED, [str(self.path)])
        return scanned(sources_of(self.files), schema, entries)

    def _expected(self, sample: Sample) -> pyarrow.Table | None:
        """The rows of the whole file; None if it can't be added."""
        try:
            return self._added(sample.data, sample)
        except LakebedError:
            return None


class StrangersFields(Strangers):
    """The same with well-formed footers whose fields contradict each other."""

    def damaged(self, data: bytes, chance: Random) -> bytes:
        try:
            return with_changed_field(data, chance)
        except Malformed:  # encrypted, or signed
            return super().damaged(data, chance)


class StrangersPages(Strangers):
    """The same, damaged before the footer; most have no checksums there."""

    def damaged(self, data: bytes, chance: Random) -> bytes:
        return mutated(data, chance, body_span(data))


class StrangersFiles(Strangers):
    """The same, damaged anywhere, by several mutations."""

    def damaged(self, data: bytes, chance: Random) -> bytes:
        for _ in range(chance.randint(1, 4)):
            data = mutated(data, chance) or b"PAR1"
        return data


class Footers(Target):
    """Files of a table whose footers rot in place."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        every, nested = every_type(), nested_types()
        many = pyarrow.concat_tables([every] * 20)
        self.tables = [
            (schema, list(self._entries(schema, rows)))
            for schema, rows in (
                (with_ids(Schema(EVERY), 0, 1), every),  # of less than 16 kB: without dictionaries
                (with_ids(Schema(EVERY), 0, 1), many),
                (with_ids(Schema(NESTED), 0, 1), nested),
            )
        ]
        self.whole = [self.files.read(entry.path) for _, [entry] in self.tables]
        self.expected = [scanned(sources_of(self.files), *table) for table in self.tables]

    def _entries(self, schema: Schema, rows: pyarrow.Table) -> Iterator[DataFileRef]:
        return map(self.entry, write(self.files, "data", schema, rows))

    def entry(self, entry: DataFileRef) -> DataFileRef:
        return entry

    def damaged(self, data: bytes, chance: Random) -> bytes:
        return same_size(data, chance, footer_span(data))

    def is_right(self, chance: Random) -> bool:
        number = chance.randrange(len(self.tables))
        schema, [entry] = self.tables[number]
        path = Path(self.files.location(entry.path))
        path.write_bytes(self.damaged(self.whole[number], chance))
        return bool(scanned(sources_of(self.files), schema, [entry]).equals(self.expected[number]))


class OldFooters(Footers):
    """The same in entries of older versions of Lakebed, which have no checksum of the footer."""

    def entry(self, entry: DataFileRef) -> DataFileRef:
        entry.ClearField("footer_checksum")
        return entry


class Pages(Footers):
    """Files of a table that rot before their footers: pages and their headers."""

    def damaged(self, data: bytes, chance: Random) -> bytes:
        return same_size(data, chance, body_span(data))


class Vectors(Target):
    """Puffin files with deletion vectors."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.schema = with_ids(Schema({"id": "long"}), 0, 1)
        [entry] = write(self.files, "data", self.schema, pyarrow.table({"id": range(1000)}))
        positions = [*range(100, 400), *range(0, 1000, 17)]
        [self.entry] = write_vectors(self.files, "data", [(entry, positions)])
        self.whole = self.files.read(self.entry.dv_path)
        self.expected = self._scanned(self.entry)

    def _scanned(self, entry: DataFileRef) -> pyarrow.Table:
        return scanned(sources_of(self.files), self.schema, [entry])

    def is_right(self, chance: Random) -> bool:
        entry = DataFileRef()
        entry.CopyFrom(self.entry)
        entry.dv_path = f"data/{uuid4()}.puffin"  # vectors are cached by their paths
        path = Path(self.files.location(entry.dv_path))
        path.write_bytes(mutated(self.whole, chance))
        try:
            return bool(self._scanned(entry).equals(self.expected))
        finally:
            path.unlink()


class InlineRows(Target):
    """Inline rows, damaged behind the store's checksum, as an attacker would: the entry has their new size."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        many = pyarrow.concat_tables([every_type()] * 10)  # compressed
        cases = [(EVERY, every_type()), (EVERY, many), (NESTED, nested_types())]
        self.bodies = [(with_ids(Schema(columns), 0, 1), rows) for columns, rows in cases]
        self.inlined = [self._inlined(schema, rows) for schema, rows in self.bodies]
        self.expected = [
            scanned(sources_of(self.files, one.bodies), schema, one.entries)
            for (schema, _), one in zip(self.bodies, self.inlined, strict=True)
        ]

    def _inlined(self, schema: Schema, rows: pyarrow.Table) -> Inlined:
        inlined = inline(schema, rows, 1 << 20, room_bytes=1 << 20)
        assert isinstance(inlined, Inlined)
        return inlined

    def is_right(self, chance: Random) -> bool:
        number = chance.randrange(len(self.inlined))
        [whole], (id, body) = self.inlined[number].entries, *self.inlined[number].bodies.items()
        damaged, entry = mutated(body, chance), DataFileRef()
        entry.CopyFrom(whole)
        entry.file_size = len(damaged)
        schema = self.bodies[number][0]
        return bool(scanned(sources_of(self.files, {id: damaged}), schema, [entry]).equals(self.expected[number]))


class Columns(Target):
    """Columns of entries in checkpoints and large deltas, damaged behind their checksums."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        texts = [None if number % 5 == 0 else f"data/{number}.parquet" for number in range(200)]
        self.columns = [
            pyarrow.array(texts, pyarrow.string()),
            pyarrow.array(range(200), pyarrow.int64()),
            pyarrow.array(texts, pyarrow.string()).dictionary_encode(),
        ]

    def is_right(self, chance: Random) -> bool:
        column = chance.choice(self.columns)
        damaged = mutated(bytes(column_payload("path", column)), chance)
        found = column_from(pyarrow.py_buffer(damaged), Location("x", 0, len(damaged), len(damaged), shared=True))
        found.validate(full=True)
        return bool(found.equals(column))


class Aborts(Target):
    """A control: a reader that ends the process."""

    def is_right(self, chance: Random) -> bool:
        os.abort()


class Every(Target):
    """A few of each target in one process: the seed chooses one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.targets = [make(folder / name) for name, make in TARGETS.items()]

    def attempt(self, seed: int) -> str:
        return self.targets[seed % len(self.targets)].attempt(seed)

    def is_right(self, chance: Random) -> bool:
        return chance.choice(self.targets).is_right(chance)


TARGETS: dict[str, type[Target]] = {
    "strangers": Strangers,
    "strangers-fields": StrangersFields,
    "strangers-pages": StrangersPages,
    "strangers-files": StrangersFiles,
    "footers": Footers,
    "old-footers": OldFooters,
    "pages": Pages,
    "vectors": Vectors,
    "inline-rows": InlineRows,
    "columns": Columns,
}

ALL, ABORTS = "all", "aborts"
"""The names of a few of each, and of the control."""

SEALED = ("footers", "vectors")
"""Targets whose bytes are all covered by checksums: never other rows."""

"""What a table remembers of its imports, so that the next one brings only what is new.

    (table, properties) "lakebed.imported.files" -> {"format": 1, "edition": …, "bodies": [id, …]}
    (table, properties) "lakebed.imported.<kind>.<hash of the source>" -> {"format": 1, "edition": …, …}
    (table, "imports", id) -> "LKBI" ‖ 01 ‖ zlib of lines of JSON: [path, size, CRC32C, modified in µs]

The properties are the table's: they commit with the rows, and go back with them by a revert, a reset or a restore. Two
imports that race change the same property, and so do two lines that import the same: that is a conflict, never rows
that come twice. A body belongs to the table and never changes; the metastore cuts it into parts with checksums.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from secrets import randbits
from typing import Any, Final

from lakebed.catalog.objects.properties import properties_of, put_properties
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Invalid

PREFIX: Final = "lakebed.imported."
FILES: Final = f"{PREFIX}files"
BODY_KIND: Final = "imports"
MOST_BODIES: Final = 100
"""How many bodies a property names at most; a later import writes them together again."""

_MAGIC: Final = b"LKBI\x01"
_FORMAT: Final = 1
_ID_BITS: Final = 62


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file that was imported, as it was then. The checksum is of a Parquet file's footer, or of all bytes."""

    path: str
    size: int
    checksum: int
    modified: int


def imported_files(work: Work, table: str) -> dict[str, ImportedFile]:
    """The files that were imported into a table, by path; counts as read."""
    holder = table_state(work, table).id
    bodies = [_body(work, holder, number) for number in _body_ids(work, table)]
    return {file.path: file for body in bodies for file in decode(body)}


def remember_files(work: Work, table: str, files: Sequence[ImportedFile]) -> None:
    """Remember files that the work imports."""
    known = _body_ids(work, table)
    if len(known) >= MOST_BODIES:
        files, known = [*imported_files(work, table).values(), *files], []
    number = randbits(_ID_BITS)
    work.put_body(table_state(work, table).id, BODY_KIND, number, encode(files))
    _put(work, table, FILES, {"bodies": [*known, number]})


def imported_position(work: Work, table: str, kind: str, source: object) -> dict[str, Any] | None:
    """How far a source was imported that has versions or keys; None if it was not."""
    return _value(work, table, _key(kind, source))


def remember_position(work: Work, table: str, kind: str, source: object, position: Mapping[str, Any]) -> None:
    """Remember how far the work imports a source."""
    _put(work, table, _key(kind, source), position)


def _key(kind: str, source: object) -> str:
    text = json.dumps(source, ensure_ascii=False, sort_keys=True)
    return f"{PREFIX}{kind}.{blake2b(text.encode(), digest_size=8).hexdigest()}"


def encode(files: Iterable[ImportedFile]) -> bytes:
    """The body that has these files."""
    rows = [json.dumps([file.path, file.size, file.checksum, file.modified], ensure_ascii=False) for file in files]
    return _MAGIC + zlib.compress("\n".join(rows).encode())


def decode(body: bytes) -> Iterator[ImportedFile]:
    """The files in a body; `Corrupt` if it is damaged, `Invalid` if a newer Lakebed wrote it."""
    if body[:4] == _MAGIC[:4] and body[:5] != _MAGIC:
        raise Invalid("a newer Lakebed wrote what was imported", found=f"format {body[4:5].hex()}", advice="Upgrade.")
    try:
        if body[:5] != _MAGIC:
            raise ValueError("it does not begin with LKBI")
        rows = [json.loads(line) for line in zlib.decompress(body[5:]).decode().splitlines()]
        yield from [ImportedFile(str(path), int(size), int(crc), int(time)) for path, size, crc, time in rows]
    except (zlib.error, ValueError, TypeError) as error:
        raise Corrupt("the list of imported files is damaged", found=str(error), advice="Run lake.check().") from error


def _body(work: Work, holder: str, number: int) -> bytes:
    own = work.body(holder, BODY_KIND, number)
    [body] = [own] if own is not None else work.context.metastore.bodies([(holder, BODY_KIND, number)])
    if body is None:
        subject = f"{BODY_KIND} {number} of table {holder}"
        raise Corrupt("a list of imported files is missing", subject=subject, advice="Run lake.check().")
    return body


def _body_ids(work: Work, table: str) -> list[int]:
    found = _value(work, table, FILES)
    return [] if found is None else [int(number) for number in found["bodies"]]


def _value(work: Work, table: str, key: str) -> dict[str, Any] | None:
    """What a property says; None if it is not set, or about another edition, whose rows these are not."""
    text = properties_of(work, table).get(key)
    if text is None:
        return None
    try:
        found = json.loads(text)
        if found["format"] != _FORMAT:
            raise Invalid("a newer Lakebed remembered this import", subject=key, advice="Upgrade Lakebed.")
        return found if found["edition"] == _edition(work, table) else None
    except (ValueError, TypeError, KeyError) as error:
        advice = f"Unset it with unset_properties([{key!r}]): then all is imported again."
        raise Corrupt("what was imported can't be read", subject=key, found=text[:80], advice=advice) from error


def _put(work: Work, table: str, key: str, value: Mapping[str, Any]) -> None:
    whole = {"format": _FORMAT, "edition": _edition(work, table), **value}
    before = properties_of(work, table)
    put_properties(work, table, {**before, key: json.dumps(whole, ensure_ascii=False, separators=(",", ":"))})


def _edition(work: Work, table: str) -> str:
    """The edition whose rows were imported: a new one begins with the properties of the one before, and no rows."""
    return table_state(work, table).edition

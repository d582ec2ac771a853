"""The keys of a lake, as tuples in FoundationDB's encoding. `line`, `object`, `parent`, `event`, `table`, … are UUIDs.

    (0)                                             -> lake record
    (1, line, object, attribute)                    -> version ‖ current record
    (2, line, object, attribute, version)           -> history record
    (3, line, parent, folded name)                  -> version ‖ name, or nothing
    (4, line, parent, folded name, version)         -> name, or nothing
    (5, line, parent, folded name, object)          -> version ‖ dropped name, or nothing
    (6, line, parent, folded name, object, version) -> dropped name, or nothing
    (7, line, parent)                               -> version of the last change to the names in it
    (8, event)                                      -> version ‖ catalog commit
    (9, line, version)                              -> event
    (10, line, object, version)                     -> table commit
    (11, parent project, parent, catalog)           -> nothing: the branches of a catalog
    (12, table, kind)                               -> the next id to give out
    (13, table, kind, id, part)                     -> a part of an immutable body
    (14, event, part)                               -> operations of a commit that did not fit into its record
    (15, line, partition, version)                  -> checkpoint of the partition's data at that version
    (16, line, partition, intent)                   -> files of a checkpoint that is being written

Every value but those of 7, 9, 11 is a record in the form of `codec`, or framed like one (12, 13: `bodies`).
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from lakebed.errors import Corrupt, Invalid
from lakebed.store import KeyRange, Version
from lakebed.store.subspace import after
from lakebed.store.tuples import pack, pack_element
from lakebed.store.version import incarnation_bytes


class Space(IntEnum):
    LAKE = 0
    CURRENT = 1
    HISTORY = 2
    NAME = 3
    NAME_HISTORY = 4
    DROPPED = 5
    DROPPED_HISTORY = 6
    LISTING = 7
    COMMIT = 8
    LOG = 9
    TABLE_COMMIT = 10
    CHILDREN = 11
    ALLOCATOR = 12
    BODY = 13
    OPERATIONS = 14
    CHECKPOINT = 15
    INTENT = 16


class Attribute(IntEnum):
    """The parts of an object that are stored separately, so that a change writes the history of one part only."""

    LIFE = 1  # type, parent, name, dropped
    PROPERTIES = 2
    STORAGE = 3
    SCHEMA = 4
    SPEC = 5
    SORT = 6
    DATA = 7
    VIEW = 8
    REF = 9  # what a branch forked from, a tag points at, a share shows
    PARTITION = 10  # values, state, formats


PREFIX = {space: pack((int(space),)) for space in Space}
_NUMBER = {attribute: pack((int(attribute),)) for attribute in Attribute}
_ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VERSION_CODE = b"\x33"
VERSION_SIZE = 13
ID_SIZE = 17


@lru_cache(maxsize=65536)
def id_element(text: str) -> bytes:
    """The key element of an id; `Invalid` unless it is a UUID as `str(uuid)` writes it."""
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise Invalid("this is not an id", subject=repr(text), expected="a UUID in lower case, like str(uuid.uuid4())")
    return b"\x30" + bytes.fromhex(text.replace("-", ""))


def id_text(element: bytes) -> str:
    if len(element) != ID_SIZE or element[0] != 0x30:
        raise Corrupt("a key has no valid id where one is expected", found=element.hex())
    text = element[1:].hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def name_element(folded: str) -> bytes:
    return pack_element(folded)


def version_element(version: Version) -> bytes:
    return _VERSION_CODE + version


def key_version(key: bytes) -> Version:
    """The version that a key ends with."""
    if len(key) < VERSION_SIZE or key[-VERSION_SIZE] != 0x33:
        raise Corrupt("a key does not end with a version", found=key.hex())
    return Version(key[-12:])


def pending(prefix: bytes, incarnation: int) -> tuple[bytes, int]:
    """The key `prefix` followed by the version of the commit in progress, and the offset of its stamp."""
    return prefix + _VERSION_CODE + incarnation_bytes(incarnation) + b"\xff" * 10, len(prefix) + 3


def pending_value(incarnation: int, value: bytes) -> tuple[bytes, int]:
    """A current row: the version of the commit in progress, then `value`; and the offset of its stamp."""
    return incarnation_bytes(incarnation) + b"\xff" * 10 + value, 2


def prefix_range(prefix: bytes) -> KeyRange:
    return KeyRange(prefix, after(prefix))


def versions_up_to(prefix: bytes, version: Version) -> KeyRange:
    """The rows of one cell's history from its first to `version`."""
    return KeyRange(prefix + _VERSION_CODE, prefix + _VERSION_CODE + version + b"\x00")


def versions_before(prefix: bytes, version: Version) -> KeyRange:
    return KeyRange(prefix + _VERSION_CODE, prefix + _VERSION_CODE + version)


def versions_after(prefix: bytes, version: Version) -> KeyRange:
    return KeyRange(prefix + _VERSION_CODE + version + b"\x00", prefix + b"\x34")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with a history on each line: an attribute, a name or a dropped name."""

    space: Space  # of the current value; the history's is the next one
    rest: bytes

    def current_key(self, line: str) -> bytes:
        return PREFIX[self.space] + id_element(line) + self.rest

    def history_prefix(self, line: str) -> bytes:
        return _HISTORY_PREFIX[self.space] + id_element(line) + self.rest


_HISTORY_PREFIX = {space: PREFIX[Space(space + 1)] for space in (Space.CURRENT, Space.NAME, Space.DROPPED)}


def attribute_cell(object_id: str, attribute: Attribute) -> Cell:
    return Cell(Space.CURRENT, id_element(object_id) + _NUMBER[attribute])


def name_cell(parent: str, folded: str) -> Cell:
    return Cell(Space.NAME, id_element(parent) + name_element(folded))


def dropped_cell(parent: str, folded: str, object_id: str) -> Cell:
    return Cell(Space.DROPPED, id_element(parent) + name_element(folded) + id_element(object_id))


def lake_key() -> bytes:
    return PREFIX[Space.LAKE]


def listing_key(line: str, parent: str) -> bytes:
    return PREFIX[Space.LISTING] + id_element(line) + id_element(parent)


def commit_key(event: str) -> bytes:
    return PREFIX[Space.COMMIT] + id_element(event)


def operations_prefix(event: str) -> bytes:
    return PREFIX[Space.OPERATIONS] + id_element(event)


def log_prefix(line: str) -> bytes:
    return PREFIX[Space.LOG] + id_element(line)


def table_commit_prefix(line: str, object_id: str) -> bytes:
    return PREFIX[Space.TABLE_COMMIT] + id_element(line) + id_element(object_id)


def children_prefix(project: str, parent: str) -> bytes:
    return PREFIX[Space.CHILDREN] + pack_element(project) + id_element(parent)


def allocator_key(table: str, kind: str) -> bytes:
    return PREFIX[Space.ALLOCATOR] + id_element(table) + pack_element(kind)


def body_prefix(table: str, kind: str, body_id: int) -> bytes:
    return PREFIX[Space.BODY] + id_element(table) + pack_element(kind) + pack_element(body_id)


def checkpoint_prefix(line: str, partition: str) -> bytes:
    return PREFIX[Space.CHECKPOINT] + id_element(line) + id_element(partition)


def intent_key(line: str, partition: str, intent: str) -> bytes:
    return PREFIX[Space.INTENT] + id_element(line) + id_element(partition) + id_element(intent)

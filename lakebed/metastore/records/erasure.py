"""Erasing rows for good: those of purged objects, and those of a purged line.

It works outside commits, in store transactions of bounded size. If interrupted, it continues when it is called again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from lakebed.metastore.line import NOWHERE
from lakebed.metastore.metastore import TOMBSTONE
from lakebed.records import codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import PREFIX, Attribute, Cell, Space
from lakebed.store import KeyRange, Page, RangeRead, Store, Transaction

CELLS = 20  # in one store transaction,
ROWS = 50  # and rows of each: 1,000 rows, most of them of about 100 bytes

# The schema goes first: a table without it can't be read, so nobody sees half of a table. The storage goes last: it
# names the partitions, and an erasure that continues has to find their data.
_FIRST, _LAST = (Attribute.SCHEMA, Attribute.VIEW), (Attribute.STORAGE,)
_BETWEEN = tuple(attribute for attribute in Attribute if attribute not in (Attribute.LIFE, *_FIRST, *_LAST))

_DATA = layout.attribute_cell(NOWHERE, Attribute.DATA).rest[layout.ID_SIZE :]
_REF = layout.attribute_cell(NOWHERE, Attribute.REF).rest[layout.ID_SIZE :]

# Checkpoints last: as long as a delta exists, one may still be put. Intents stay: they name files that may exist.
_OF_A_LINE = (*(space for space in Space if Space.CURRENT <= space <= Space.LISTING), Space.CHECKPOINT)

_Step = Callable[[Transaction], bool]
"""Erases some rows; whether there are more."""


def erase_objects(store: Store, line: str, objects: Sequence[str]) -> None:
    """Erase all attributes of objects on a line, with their histories, except their lives."""
    for attributes in (_FIRST, _BETWEEN, _LAST):
        cells = [layout.attribute_cell(object_id, attribute) for object_id in objects for attribute in attributes]
        for start in range(0, len(cells), CELLS):
            _repeat(store, partial(_clear_cells, line=line, cells=cells[start : start + CELLS]))


def erase_bodies(store: Store, tables: Sequence[str]) -> None:
    """Erase the bodies and allocators of tables, one table per transaction; their tombstones stay."""
    for table in tables:
        bodies, allocators = (
            layout.prefix_range(PREFIX[space] + layout.id_element(table)) for space in (Space.BODY, Space.ALLOCATOR)
        )
        tombstone = layout.prefix_range(bodies.begin + layout.name_element(TOMBSTONE))
        own = [KeyRange(bodies.begin, tombstone.begin), KeyRange(tombstone.end, bodies.end), allocators]
        _repeat(store, partial(_clear_all, ranges=own))


def erase_line(store: Store, line: str) -> None:
    """Erase everything that a line has written, except its commits."""
    for space in _OF_A_LINE:
        whole = layout.prefix_range(PREFIX[space] + layout.id_element(line))
        _repeat(store, partial(_clear_some, whole=whole))


def _repeat(store: Store, step: _Step) -> None:
    while store.run_idempotent(step).value:
        pass


def _clear_cells(transaction: Transaction, line: str, cells: Sequence[Cell]) -> bool:
    """Clear the oldest rows of each cell. Its newest and its current row go together, so that they always agree.

    Every step on a partition's data clears all its checkpoints, including those that were put since the last step.
    """
    histories = [layout.prefix_range(cell.history_prefix(line)) for cell in cells]
    pages = transaction.snapshot.get_ranges([RangeRead(history, ROWS) for history in histories])
    current = transaction.snapshot.get_many([cell.current_key(line) for cell in cells])
    for cell, history, page, value in zip(cells, histories, pages, current, strict=True):
        _clear_page(transaction, history, page)
        if page.entries and cell.rest[layout.ID_SIZE :] == _DATA:
            partition = layout.id_text(cell.rest[: layout.ID_SIZE])
            transaction.clear_range(layout.prefix_range(layout.checkpoint_prefix(line, partition)))
        if page.rest is None and value is not None:
            _unindex(transaction, cell.current_key(line), value)
            transaction.clear(cell.current_key(line))
    return any(page.rest is not None for page in pages)


def _clear_some(transaction: Transaction, whole: KeyRange) -> bool:
    page = transaction.snapshot.get_range(whole, limit=CELLS * ROWS)
    for key, value in page.entries:
        _unindex(transaction, key, value)
    _clear_page(transaction, whole, page)
    return page.rest is not None


def _clear_page(transaction: Transaction, whole: KeyRange, page: Page) -> None:
    """Clear what was read of a range; the last row only if the range ends with it."""
    if page.entries:
        transaction.clear_range(whole if page.rest is None else KeyRange(whole.begin, page.entries[-1][0]))


def _clear_all(transaction: Transaction, ranges: Sequence[KeyRange]) -> bool:
    pages = transaction.snapshot.get_ranges([RangeRead(range, 1) for range in ranges])
    for page, range in zip(pages, ranges, strict=True):
        if page.entries:
            transaction.clear_range(range)
    return False


def _unindex(transaction: Transaction, key: bytes, value: bytes) -> None:
    """Remove a branch from the index of forks if this is its REF row; other rows are not in the index."""
    if not (key.startswith(PREFIX[Space.CURRENT]) and key.endswith(_REF)):
        return
    record = cast(pb.CatalogRecord, codec.decode(codec.split_current(value)[1]))
    if record.parent_id:
        object_id = key[-len(_REF) - layout.ID_SIZE : -len(_REF)]
        transaction.clear(layout.children_prefix(record.parent_project_id, record.parent_id) + object_id)

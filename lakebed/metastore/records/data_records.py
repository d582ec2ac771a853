"""Every delta and checkpoint in a store, whatever line they are on: what refers to files."""

from collections.abc import Iterator
from functools import partial

from lakebed.metastore.change import State
from lakebed.metastore.records.checkpoints import checkpoint_state
from lakebed.metastore.records.reader import state
from lakebed.records import layout
from lakebed.records.cells import Row
from lakebed.records.check.rows import attribute_of, past_of
from lakebed.records.layout import PREFIX, Attribute, Space
from lakebed.store import KeyRange, Page, Store, Transaction

PAGE_ROWS = 500


def data_records(store: Store) -> Iterator[tuple[str, State]]:
    """The deltas and the checkpoints, each with the id of its partition."""
    for key, value in _rows(store, Space.HISTORY):
        past = past_of(key, value)
        object_id, attribute = attribute_of(past.rest)
        if attribute is Attribute.DATA:
            yield object_id, state(Row(past.line, past.version, value), object_id, attribute)
    for key, value in _rows(store, Space.CHECKPOINT):
        past = past_of(key, value)
        yield layout.id_text(past.rest), checkpoint_state(Row(past.line, past.version, value))


def _rows(store: Store, space: Space) -> Iterator[tuple[bytes, bytes]]:
    """The rows of a space, each page in a transaction of its own."""
    rest: KeyRange | None = layout.prefix_range(PREFIX[space])
    while rest is not None:
        page = store.read(partial(_page, part=rest))
        yield from page.entries
        rest = page.rest


def _page(transaction: Transaction, part: KeyRange) -> Page:
    return transaction.snapshot.get_range(part, limit=PAGE_ROWS)

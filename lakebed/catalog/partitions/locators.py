"""Where partitions and deltas are among the six levels of source document 000."""

from typing import Final

from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.bound import subject_of
from lakebed.catalog.transaction.objects import container_of, name_of, type_of
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb

_FIRST_EDITION: Final = "1"  # whose state is the table's own


def partition_locator(work: Work, state: TableState, partition: str) -> Locator:
    """The locator of a partition: its own name, and its stream's, is its id."""
    holder = str(state.id)
    stream = subject_of(state.id) if is_of_staged_stream(work, state) else state.stream
    if type_of(work, holder) == pb.TABLE:
        *namespace, table = name_of(work, holder)
        return Locator(tuple(namespace), table, _FIRST_EDITION, stream, partition)
    life = work.life(holder)
    assert life is not None
    *namespace, table = name_of(work, container_of(work, holder))
    return Locator(tuple(namespace), table, life.name, stream, partition)


def is_of_staged_stream(work: Work, state: TableState) -> bool:
    """Whether a state is that of a staged stream, not of its edition or of a staged partition."""
    subject = subject_of(state.id)
    return subject != str(state.id) and type_of(work, subject) == pb.STREAM

"""What two sides did to the levels of a table: which edition and stream are shown, and what is staged."""

from collections.abc import Callable, Iterable
from typing import Final

from lakebed.catalog.merge.sides import ACTIVE, STATE, STREAM, MergeSide
from lakebed.catalog.merge.states import ObjectState, read_states, rely_on_states
from lakebed.catalog.transaction.objects import FIRST_EDITION
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.table.merge.sides import COMPACT

LEVELS: Final[tuple[tuple[str, Callable[[ObjectState], str]], ...]] = (
    (ACTIVE, lambda state: state.active),
    (STREAM, lambda state: state.stream),
    (STATE, lambda state: state.state),
)
"""What a merge takes from one side as a whole, with its value in a state."""

STAGED: Final = "staged"
COMMITTED: Final = "committed"


def edition_text(works: Iterable[Work], edition: str) -> str:
    """The name of an edition by its id, "" for the first, as any of these states has it."""
    lives = (work.life(edition) for work in works if edition)
    return next((life.name for life in lives if life is not None), edition or FIRST_EDITION)


def wrote_rows(side: MergeSide, base: Work, holder: str) -> bool:
    """Whether a side changed rows of an edition, or of what is staged, since the base. Compactions change none."""
    then, now = read_states(base, [holder]).get(holder), read_states(side.work, [holder]).get(holder)
    if now is None or now.table is None or (then is not None and then.delta == now.delta):
        return False
    rely_on_states(side.work, {holder: now})
    deltas = side.files(now.table).deltas
    return any(delta.operation != COMPACT and delta.manifest.data_files and not delta.is_at_base for delta in deltas)


def is_commit_of_staged(base: ObjectState | None, side: ObjectState | None) -> bool:
    """Whether a side committed a stream or partition that was staged at the base."""
    staged = base is not None and base.type in (pb.STREAM, pb.PARTITION) and base.state == STAGED
    return staged and side is not None and side.state == COMMITTED

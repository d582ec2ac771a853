"""Where the entry of each live file is kept: in a checkpoint's object, in a large delta's object, or in a frame."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lakebed.catalog.data.checkpoints import Checkpoint, load_part
from lakebed.catalog.data.deltas import histories, stored_frame
from lakebed.catalog.data.frames import framed_manifest
from lakebed.catalog.data.live_files import TableFiles
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.table.manifest.delta import DELETED
from lakebed.table.manifest.locations import Location, location_from_proto

Placed = dict[str, Location]
"""By the paths of files, where their entries are. Keys are locations that other programs open, or names for `open`."""


def entry_places(work: Work, states: Sequence[TableState], files: Sequence[TableFiles]) -> Iterator[Placed]:
    """Where the entries of each table's live files are; an entry that a delta changed is in that delta."""
    since = [None if one.checkpoint is None else one.checkpoint.version for one in files]
    deltas = histories(work, [(state.partition, start) for state, start in zip(states, since, strict=True)])
    times = iter(work.context.metastore.times([delta.version for own in deltas for delta in reversed(own)]))
    for one, own in zip(files, deltas, strict=True):
        stored = {} if one.checkpoint is None else _in_checkpoint(work.context, one.checkpoint)
        for delta in reversed(own):
            stored |= _in_delta(work.context, delta, next(times) // 1000)
        yield stored


def _in_checkpoint(context: Context, checkpoint: Checkpoint) -> Placed:
    places: Placed = {}
    for part in checkpoint.parts:
        place = _opened(context, replace(location_from_proto(part.entries), shared=part.files > 1))
        places |= dict.fromkeys(load_part(context, part).column("path").to_pylist(), place)
    return places


def _in_delta(context: Context, delta: State, time_ms: int) -> Placed:
    framed = framed_manifest(context, delta, time_ms)
    files = framed.message.data_files
    _, stored = stored_frame(context, delta)
    if stored.HasField("entries"):
        place = _opened(context, replace(location_from_proto(stored.entries), shared=len(files) > 1))
    else:
        place = Location(framed.path, 0, len(framed), len(framed), shared=len(files) > 1)
    return {file.path: place for file in files if file.status != DELETED}


def _opened(context: Context, location: Location) -> Location:
    """The location with the key by which other programs open it."""
    return replace(location, key=context.files.location(location.key))

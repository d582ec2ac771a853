"""The commits to a table after a state, one step each, as a stream reads them."""

from dataclasses import dataclass
from typing import cast

from lakebed.catalog.data.deltas import history
from lakebed.catalog.feed.deltas import all_entries
from lakebed.catalog.feed.ends import End
from lakebed.catalog.feed.feed import Feed, feed_of
from lakebed.catalog.feed.steps import Piece, live_piece
from lakebed.metastore import Commit
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import Sight
from lakebed.records.layout import Attribute
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The steps between two states of one line, and the state that they lead to."""

    feed: Feed
    until: End


def arrivals(since: End, until: End) -> Arrivals:
    """What every commit after a past state of a line did."""
    return Arrivals(feed_of(since, until, net=False), until)


def shared_version(sight: Sight, until: End) -> Version:
    """The newest version up to which a line has the same past as something that was seen, perhaps on another line."""
    seen = {at.line: at.version for at in sight}
    common = (min(at.version, seen[at.line]) for at in until.work.ref.line.sight(until.version) if at.line in seen)
    return max(common, default=Version.parse(0))


def live_pieces(end: End) -> list[Piece]:
    """All rows of a table at a state, in the order in which they came."""
    files = end.work.context.files
    entries = all_entries(end.work, end.state).values()
    pieces = [live_piece(files, file) for file in entries]
    return sorted((piece for piece in pieces if piece.rows), key=lambda piece: piece.file.first_row_id)


def first_folder(end: End) -> str:
    """The folder that a table got when it was created: that of its new files may be another one by now."""
    assert end.holder is not None
    return cast(pb.TableStorage, history(end.work, end.holder, None, Attribute.STORAGE)[-1].record).location


def commit_at(end: End, version: Version) -> Commit | None:
    """The commit of a version, if it was made on this line."""
    found = end.scope.at(version).read().reader.log(limit=1).items
    return found[0] if found and found[0].version == version else None

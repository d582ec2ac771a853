"""Inline rows: a file's entry whose rows are a body in the metastore, not a file. Its path is `inline:<id>`."""

from collections.abc import Iterable, Iterator
from typing import Final

from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import DataFileRef

INLINE: Final = "inline:"
BODY_KIND: Final = "rows"
"""The kind of the bodies: `(table, "rows", inline id) -> Arrow IPC`, shared by all branches."""

DEFAULT_INLINE_BYTES: Final = 64_000
"""Rows of up to this size stay inline, unless their table sets another limit."""

MOST_INLINE_BYTES: Final = 1_000_000
"""The highest limit that a table may set."""

BUDGET_BYTES: Final = 4_000_000
"""The limit on inline rows and manifests in one commit, since a store's transaction holds 10 MB. The rest are files."""


def inline_path(inline_id: int) -> str:
    """The path of an entry whose rows are the body with this id."""
    return f"{INLINE}{inline_id}"


def is_inline(file: DataFileRef) -> bool:
    """Whether the rows are a body in the metastore."""
    return file.path.startswith(INLINE)


def inline_id(file: DataFileRef) -> int:
    """The id of the body that has the rows."""
    text = file.path.removeprefix(INLINE)
    if not (is_inline(file) and text.isascii() and text.isdigit()):
        raise Corrupt("a file's entry does not name inline rows", subject=file.path, expected=f"{INLINE}<number>")
    return int(text)


def file_paths(files: Iterable[DataFileRef]) -> Iterator[str]:
    """The paths of the entries that are files."""
    return (file.path for file in files if not is_inline(file))

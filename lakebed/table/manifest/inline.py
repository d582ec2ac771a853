"""Inline rows: a file entry whose rows are a body in the metastore, not a file. Its path is `inline:<id>`."""

from collections.abc import Iterable, Iterator
from typing import Final

from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import DataFileRef

INLINE: Final = "inline:"
BODY_KIND: Final = "rows"
"""The kind of the bodies: `(table, "rows", inline id) -> Arrow IPC`, shared by all lines."""

DEFAULT_INLINE_BYTES: Final = 64_000
"""Up to which rows stay inline, unless their table says otherwise."""

MOST_INLINE_BYTES: Final = 1_000_000
"""What a table may say at most."""

BUDGET_BYTES: Final = 4_000_000
"""Of inline rows and manifests in one commit: a transaction of the store has 10 MB at most. The others are files."""


def inline_path(inline_id: int) -> str:
    return f"{INLINE}{inline_id}"


def is_inline(file: DataFileRef) -> bool:
    """Whether the rows are a body of the metastore."""
    return file.path.startswith(INLINE)


def inline_id(file: DataFileRef) -> int:
    """The id of the body that has the rows."""
    text = file.path.removeprefix(INLINE)
    if not (is_inline(file) and text.isascii() and text.isdigit()):
        raise Corrupt("a file entry names no inline rows", subject=file.path, expected=f"{INLINE}<number>")
    return int(text)


def file_paths(files: Iterable[DataFileRef]) -> Iterator[str]:
    """The paths of those that are files."""
    return (one.path for one in files if not is_inline(one))

"""Checksums of pages: SQLite's own extension, which apsw brings."""

from functools import cache

import apsw
import apsw.sqlite_extra

from lakebed.errors import Unavailable

RESERVED_BYTES = 8
"""What each page keeps for its checksum; the extension acts on databases that reserve exactly this."""


@cache
def checksummed_vfs() -> str:
    """The name of the VFS that writes and compares checksums, on top of what was the default when this was called."""
    default = apsw.vfs_names()[0]
    connection = apsw.Connection(":memory:")
    try:
        apsw.sqlite_extra.load(connection, "cksumvfs")
    except (apsw.Error, apsw.sqlite_extra.NotAvailable, LookupError, OSError) as error:
        raise Unavailable(
            f"this apsw has no checksums of pages: {error}",
            expected="apsw with the extension cksumvfs",
            advice="Install apsw from PyPI, which includes it.",
        ) from error
    finally:
        connection.close()
    apsw.set_default_vfs(default)  # the extension becomes the default, also for what others open in this process
    return "cksmvfs"

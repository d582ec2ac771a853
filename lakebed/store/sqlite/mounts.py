"""The kind of file system that holds a folder."""

import os
import re
from pathlib import Path

from lakebed.errors import Invalid

# SQLite's WAL keeps its index in shared memory, which two machines do not share.
NETWORK = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "prl_fs",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "fuse.blobfuse2",
        "fuse.ceph",
        "fuse.ceph-fuse",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.goofys",
        "fuse.juicefs",
        "fuse.mount-s3",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "fuse.vmhgfs-fuse",
    ]
)

_ESCAPED = re.compile(rb"\\([0-7]{3})")


def refuse_network_folder(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> None:
    kind = file_system(folder, mounts)
    if kind in NETWORK:
        raise Invalid(
            "an embedded lake can't live on a network file system: two machines would corrupt it",
            subject=str(folder),
            expected="a local disk",
            found=kind,
            advice="Use a local folder for the catalog (the data may stay where it is), or a database server.",
        )


def file_system(folder: Path, mounts: Path) -> str | None:
    """The type of the file system that holds `folder`; None if the system does not report it."""
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return None
    real = Path(os.path.realpath(folder))
    best: tuple[int, str] | None = None
    for line in lines:
        fields, _, source = line.partition(b" - ")
        point = Path(os.fsdecode(_unescaped(fields.split()[4])))
        # A later mount on the same point hides the earlier one.
        if real.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = len(point.parts), os.fsdecode(source.split()[0])
    return best[1] if best else None


def _unescaped(field: bytes) -> bytes:
    """Undo the kernel's escapes: it writes space, tab, newline and backslash in a path as three octal digits."""
    return _ESCAPED.sub(lambda found: bytes((int(found[1], 8),)), field)

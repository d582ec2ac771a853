"""Which kind of file system a folder is on."""

from pathlib import Path

import pytest

from lakebed.errors import Invalid
from lakebed.store.sqlite.mounts import file_system, refuse_network_folder

TABLE = (
    rb"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:25 / /data rw,relatime shared:1 master:2 - nfs4 server:/export rw,vers=4.2
31 30 0:26 / /data/local rw - xfs /dev/vdb rw
32 22 0:27 / /with\040space\011and\134slash rw - cifs //server/share rw
33 22 0:28 / /donn\303\251es rw - nfs server:/fr rw
34 22 0:29 / /twice rw - nfs server:/hidden rw
35 22 0:30 / /twice rw - tmpfs tmpfs rw
36 22 0:31 / /latin"""
    + b"\xe9 rw - tmpfs tmpfs rw\n37 22 0:32 / /d\xc3\xa9j\xc3\xa0 rw - fuse.sshfs host:/ rw\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_bytes(TABLE.lstrip())
    return path


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/home/me", "ext4"),
        ("/data", "nfs4"),
        ("/data/lake/deep", "nfs4"),
        ("/database", "ext4"),
        ("/data/local/lake", "xfs"),
        ("/with space\tand\\slash/lake", "cifs"),
        ("/données/lake", "nfs"),
        ("/déjà", "fuse.sshfs"),
        ("/twice/lake", "tmpfs"),
    ],
)
def test_the_deepest_and_last_mount_that_holds_a_folder_counts(table: Path, folder: str, kind: str) -> None:
    # What it did: a mount point with an accent was not recognised, and one that is not UTF-8 raised UnicodeDecodeError.
    assert file_system(Path(folder), table) == kind


@pytest.mark.parametrize("folder", ["/data", "/données/lake", "/with space\tand\\slash", "/déjà/vu"])
def test_a_network_file_system_is_refused(table: Path, folder: str) -> None:
    with pytest.raises(Invalid, match="network file system") as caught:
        refuse_network_folder(Path(folder), table)
    assert folder in str(caught.value)


def test_a_local_disk_is_allowed(table: Path) -> None:
    refuse_network_folder(Path("/data/local/lake"), table)


def test_a_link_into_a_network_file_system_is_refused(tmp_path: Path, table: Path) -> None:
    (tmp_path / "link").symlink_to("/data")
    with pytest.raises(Invalid):
        refuse_network_folder(tmp_path / "link" / "lake", table)


def test_a_system_that_does_not_tell_is_trusted(tmp_path: Path) -> None:
    assert file_system(tmp_path, tmp_path / "none") is None
    refuse_network_folder(tmp_path, tmp_path / "none")

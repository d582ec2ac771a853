"""Whole files with put-if-absent, in a folder or an object store. docs/internals/files.md has their promises."""

from lakebed.files.files import BytesLike, Data, DeleteFailure, FileInfo, Files
from lakebed.files.lake_files import LakeFiles
from lakebed.files.local import LocalFiles
from lakebed.files.opening import open_files
from lakebed.files.paths import check_path
from lakebed.files.read_only import ReadOnlyFiles

__all__ = [
    "BytesLike",
    "Data",
    "DeleteFailure",
    "FileInfo",
    "Files",
    "LakeFiles",
    "LocalFiles",
    "ReadOnlyFiles",
    "check_path",
    "open_files",
]

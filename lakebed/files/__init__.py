"""Whole files with put-if-absent, in a local folder. docs/internals/files.md states what they guarantee."""

from lakebed.files.files import BytesLike, Data, DeleteFailure, FileInfo, Files
from lakebed.files.lake_files import LakeFiles
from lakebed.files.local import LocalFiles
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
]

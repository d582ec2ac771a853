"""The files that a scan opens, whether other engines could read them or not."""

from lakebed.arrow.read.scan import Scan


def opened_files(scan: Scan) -> list[str]:
    """Their locations, in their order."""
    return [scan._sources.files.location(planned.file.path) for planned in scan._opened()]

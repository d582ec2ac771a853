"""Files by the URL of their root, wherever that is."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lakebed.deferred import deferred
from lakebed.errors import Invalid, Unavailable
from lakebed.files.external import SCHEME, absolute_path
from lakebed.files.files import Files
from lakebed.files.local import LocalFiles

if TYPE_CHECKING:
    from lakebed.files import objects
else:
    objects = deferred("lakebed.files.objects")  # obstore is an extra


def open_files(url: str, storage: Mapping[str, Any] | None = None) -> Files:
    """The files below a folder (a path or a file: URL), or below a prefix of a bucket (`s3://bucket/lake`).

    `storage` has the options and credentials of an object store, as obstore names them.
    """
    if "://" in url and not url.startswith(SCHEME):
        if find_spec("obstore") is None:
            raise Unavailable("obstore is not installed", advice="Run `pip install 'lakebed[objects]'`.")
        return objects.ObjectFiles(url, storage)
    if storage:
        raise Invalid("a folder takes no options of an object store", subject=url, found=", ".join(sorted(storage)))
    return LocalFiles(absolute_path(url) if url.startswith(SCHEME) else url)

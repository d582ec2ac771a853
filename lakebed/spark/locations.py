"""Addresses of files, as Spark takes and shows them."""

import unicodedata
from urllib.parse import quote

from lakebed.files import Files

_LEGAL = "/_-!.~'()*:@&=+$,;"  # in a path of java.net.URI, besides letters and digits


def spark_location(files: Files, path: str) -> str:
    """The full address of a path. A local path gets `file://`: a session's default may be another file system."""
    location = files.location(path)
    return f"file://{location}" if location.startswith("/") else location


def shown_locations(location: str) -> tuple[str, ...]:
    """The forms in which Spark shows the address of a row's file: a Java URI, which keeps most letters.

    For a local file it is `file:/a` if Spark read it by its path (4.3), `file:///a` if from a file list.
    """
    scheme, _, rest = location.partition("://")
    path = "".join(map(_encoded, rest))
    return (f"{scheme}:{path}", f"{scheme}://{path}") if path.startswith("/") else (f"{scheme}://{path}",)


def _encoded(character: str) -> str:
    if character.isascii():
        return quote(character, safe=_LEGAL)
    return quote(character) if unicodedata.category(character) in ("Zs", "Zl", "Zp", "Cc") else character

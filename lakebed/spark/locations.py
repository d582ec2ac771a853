"""Addresses of files, as Spark takes them."""

from lakebed.files import Files


def spark_location(files: Files, path: str) -> str:
    """The full address of a path: a local one says so, since a session's default may be another file system."""
    location = files.location(path)
    return f"file://{location}" if location.startswith("/") else location

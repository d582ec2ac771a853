"""Where the files of an object store are: the bucket, the keys below a prefix, and the URLs of files beside it."""

from dataclasses import dataclass
from urllib.parse import quote, unquote

from lakebed.errors import Invalid
from lakebed.files.paths import check_path

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "azure": "az", "abfs": "az", "abfss": "az"}
"""The schemes that users write, and the one that stands for each in a lake."""

_PLAIN = "/-_.~"


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket and the prefix in it below which the files are; the prefix is empty, or ends with a slash."""

    scheme: str
    bucket: str
    prefix: str

    @property
    def store_url(self) -> str:
        return f"{self.scheme}://{self.bucket}"

    @property
    def url(self) -> str:
        return f"{self.store_url}/{self.prefix}".rstrip("/")

    def key(self, path: str) -> str:
        """The key of a relative path, or of the URL of a file beside the root; `Invalid` if it is in another bucket."""
        if not is_url(path):
            return self.prefix + check_path(path)
        bucket, key = self._parts(path)
        decoded = unquote(key)
        if bucket != self.bucket or quote(decoded, safe=_PLAIN) != key:
            raise _refused(path, f"Write it as {self.store_url}/{quote(decoded, safe=_PLAIN)}.")
        return check_path(decoded)

    def location(self, path: str) -> str:
        """The address, unquoted: Spark, DuckDB and pyarrow take the key as it is."""
        return f"{self.store_url}/{self.key(path)}"

    def path_of(self, location: str) -> str:
        """The relative path of an address below the root, else its URL.

        A key that reads like a quoted URL is taken for one: `a%20b` is the file `a b`.
        """
        bucket, key = self._parts(location)
        if bucket != self.bucket:
            raise _refused(location, f"Copy the file to {self.store_url}.")
        if self.prefix and key.startswith(self.prefix):
            return check_path(key[len(self.prefix) :])
        if not self.prefix:
            return check_path(key)
        decoded = unquote(key, errors="strict") if "%" in key else key
        if quote(decoded, safe=_PLAIN) != key:
            decoded = key
        return f"{self.store_url}/{quote(check_path(decoded), safe=_PLAIN)}"

    def _parts(self, url: str) -> tuple[str, str]:
        scheme, found, rest = url.partition("://")
        if not found or SCHEMES.get(scheme) != self.scheme:
            raise _refused(url, f"Copy the file to {self.store_url}.")
        bucket, _, key = rest.partition("/")
        return bucket, key


def place_of(url: str) -> Place:
    """The place that the URL of a lake names; `Invalid` if it names none."""
    scheme, found, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    if not found or scheme not in SCHEMES or not bucket or "@" in bucket:
        raise Invalid(
            "this is not the URL of an object store",
            subject=scheme if found else url,
            expected="a URL such as s3://bucket/lake, gs://bucket/lake or az://container/lake",
            advice="Credentials and the endpoint belong in the options or in the environment.",
        )
    prefix = prefix.strip("/")
    return Place(SCHEMES[scheme], bucket, f"{check_path(prefix)}/" if prefix else "")


def is_url(path: str) -> bool:
    return "://" in path


def _refused(url: str, advice: str) -> Invalid:
    return Invalid(
        "this is not the URL of a file here",
        subject=url if url.isprintable() else ascii(url),
        expected="the URL of a file in the lake's own bucket",
        advice=advice,
    )

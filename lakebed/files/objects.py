"""Files in an object store (S3, Google Cloud Storage, Azure), through obstore.

A key never changes hands in silence: `put_if_absent` is a conditional put whose object carries the id of its writer.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, timedelta
from itertools import islice
from typing import Any, BinaryIO
from uuid import uuid4

import obstore
from obstore.store import ObjectStore, from_url

from lakebed.errors import LakebedError, NotFound, OutcomeUnknown
from lakebed.files.external import check_not_external
from lakebed.files.files import Contents, Data, DeleteFailure, DeleteFailures, FileInfo, Files, pieces
from lakebed.files.object_errors import ABSENT, FAILURES, TAKEN, change_error, changing, error_for, path_taken, reading
from lakebed.files.object_urls import place_of
from lakebed.files.os_errors import negative
from lakebed.files.paths import check_prefix
from lakebed.files.ranges import check_start, too_short

WRITER = "lakebedwriter"
"""The attribute of an object that names its writer. Azure allows letters and digits alone."""

PART = 8 << 20  # a file up to this size is one put; S3 wants parts of at least 5 MB
ATTEMPTS = 5  # an attempt fails only if the object that was in the way is gone when it is looked at
BULK = 1000  # keys that S3 deletes at once
THREADS = 16

CLIENT = ("allow_http", "allow_invalid_certificates", "connect_timeout", "timeout", "proxy_url", "user_agent")
"""Options of the client; obstore takes them apart from those of the store."""

RETRY: Any = {"max_retries": 8, "retry_timeout": timedelta(seconds=60)}


class ObjectFiles(Files):
    """The objects below a prefix of a bucket; `storage` has options and credentials as obstore names them.

    What is not in `storage` comes from the environment, as obstore reads it. Opening sends no request.
    """

    def __init__(self, url: str, storage: Mapping[str, Any] | None = None) -> None:
        self._place = place_of(url)
        self._storage = dict(storage or {})
        self._store = self._opened_store()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.url, self._storage)

    def _opened_store(self) -> ObjectStore:
        client: Any = {name: value for name, value in self._storage.items() if name in CLIENT}
        config: Any = {name: value for name, value in self._storage.items() if name not in CLIENT}
        with reading(self._place.store_url):
            store: ObjectStore = from_url(
                self._place.store_url, config=config, client_options=client or None, retry_config=RETRY
            )
        return store

    @property
    def url(self) -> str:
        return self._place.url

    def location(self, path: str) -> str:
        return self._place.location(path)

    def path_of(self, location: str) -> str:
        return self._place.path_of(location)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        key = self._place.key(path)
        if start < 0 or (length is not None and length < 0):
            raise negative("range", (start, length), path)
        if start == 0 and length is None:
            with reading(path):
                return bytes(obstore.get(self._store, key).bytes())
        if length is None or length == 0:
            size = self._size_from(path, start)
            length = size - start if length is None else 0
        return self._range(path, key, start, length)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Contents:
        key = self._place.key(path)
        for start, length in ranges:
            if start < 0 or length < 0:
                raise negative("range", (start, length), path)
        wanted = [(start, length) for start, length in ranges if length]
        if len(wanted) < len(ranges):
            self._size_from(path, max(start for start, length in ranges if not length))
        try:
            found = iter(self._ranges(key, wanted))
        except FAILURES:  # perhaps since one begins or ends beyond the end: each says for itself what is wrong
            found = iter([self._range(path, key, start, length) for start, length in wanted])
        contents = [bytes(next(found)) if length else b"" for _, length in ranges]
        for (start, length), content in zip(ranges, contents, strict=True):
            if len(content) < length:
                raise too_short(path, start, length, len(content))
        return contents

    def head(self, path: str) -> FileInfo:
        key = self._place.key(path)
        with reading(path):
            found = obstore.head(self._store, key)
        return FileInfo(path, found["size"], found["last_modified"].astimezone(UTC))

    def put(self, path: str, data: Data) -> None:
        key, body = self._own_key(path), b"".join(pieces(path, data))
        with changing(path):
            obstore.put(self._store, key, body, use_multipart=len(body) > PART)

    def put_if_absent(self, path: str, data: Data) -> None:
        self._put_new(self._own_key(path), path, b"".join(pieces(path, data)))

    @contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        key = self._own_key(path)
        if self.exists(path):
            raise path_taken(path)
        raw = _NewObject(self._store, key, path)
        try:
            with io.BufferedWriter(raw, 1 << 18) as file:
                yield file
        except BaseException as error:
            raw.abandon(error)
            raise
        if (body := raw.finish()) is not None:
            self._put_new(key, path, body)

    def list(self, prefix: str = "", *, after: str | None = None, limit: int | None = None) -> Iterator[FileInfo]:
        folder = check_prefix(prefix)
        if limit is not None and limit < 0:
            raise negative("limit", limit, prefix)
        return islice(self._listed(folder, prefix, after or ""), limit)

    def delete(self, path: str) -> None:
        key = self._own_key(path)
        try:
            obstore.delete(self._store, key)
        except ABSENT:
            return
        except FAILURES as error:
            raise change_error(error, path) from None

    def delete_many(self, paths: Iterable[str]) -> DeleteFailures:
        failures: DeleteFailures = []
        keys: dict[str, str] = {}
        for path in paths:
            try:
                keys[path] = self._own_key(path)
            except LakebedError as error:
                failures.append(DeleteFailure(path, error))
        for some in _batches([*keys], BULK):
            try:
                obstore.delete(self._store, [keys[path] for path in some])
            except FAILURES:  # does not say which: each is deleted on its own
                failures += self._deleted_singly(some)
        return failures

    def sync(self, paths: Iterable[str]) -> None:
        """What is there is durable: an object store answers a put when it is."""
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(self.head, dict.fromkeys(paths)):
                pass

    def sweep_temporaries(self, older_than_seconds: float) -> int:
        """Nothing: uploads that were cut off have no names here. A lifecycle rule of the bucket removes them."""
        if older_than_seconds < 0:
            raise negative("older_than_seconds", older_than_seconds, self.url)
        return 0

    def _own_key(self, path: str) -> str:
        check_not_external(path)
        return self._place.key(path)

    def _put_new(self, key: str, path: str, body: bytes) -> None:
        """Put the object if there is none; an answer that was lost is found out by the writer's id.

        obstore sends a put again after an error of the server or of the connection, and meets its own object.
        """
        writer = uuid4().hex
        for _ in range(ATTEMPTS):
            try:
                obstore.put(self._store, key, body, attributes={WRITER: writer}, mode="create", use_multipart=False)
                return
            except TAKEN:
                found = self._writer(key, path)
                if found == writer:
                    return
                if found is not None:
                    raise path_taken(path) from None
            except FAILURES as error:
                problem = change_error(error, path)
                if not isinstance(problem, OutcomeUnknown):
                    raise problem from None
                self._settle(key, path, writer, problem)
                return
        raise path_taken(path)

    def _settle(self, key: str, path: str, writer: str, problem: OutcomeUnknown) -> None:
        """Look who has the key after a put without an answer; if nobody, the put may still arrive."""
        try:
            found = self._writer(key, path)
        except LakebedError:
            raise problem from None
        if found is None:
            raise problem
        if found != writer:
            raise path_taken(path)

    def _writer(self, key: str, path: str) -> str | None:
        """The id of an object's writer, empty if it has none; None if there is no object."""
        try:
            with reading(path):
                found = obstore.get(self._store, key, options={"head": True})
                return str(found.attributes.get(WRITER, ""))
        except NotFound:
            return None

    def _range(self, path: str, key: str, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        try:
            found = bytes(obstore.get_range(self._store, key, start=start, length=length))
        except FAILURES as error:
            if not isinstance(error, ABSENT):
                size = self._size_from(path, start)
                if start + length > size:
                    raise too_short(path, start, length, max(size - start, 0)) from None
            raise error_for(error, path) from None
        if len(found) < length:
            raise too_short(path, start, length, len(found))
        return found

    def _ranges(self, key: str, wanted: Sequence[tuple[int, int]]) -> Sequence[Any]:
        if not wanted:
            return []
        starts, lengths = zip(*wanted, strict=True)
        return obstore.get_ranges(self._store, key, starts=starts, lengths=lengths)

    def _size_from(self, path: str, start: int) -> int:
        """The file's size; `Invalid` if a range begins beyond it."""
        size = self.size(path)
        check_start(path, start, size)
        return size

    def _listed(self, folder: str, prefix: str, after: str) -> Iterator[FileInfo]:
        root = self._place.prefix
        # Below what is wanted, however the store takes an offset; what comes too early is left out here.
        begin = max(_offset(f"{root}{after}" if after else ""), _offset(f"{root}{prefix}"[:-1]))
        within = f"{root}{folder}".rstrip("/") or None
        with reading(prefix or self.url):
            for page in obstore.list(self._store, within, offset=begin or None, chunk_size=BULK):
                for found in page:
                    path = found["path"][len(root) :]
                    if path.startswith(prefix) and path > after:
                        yield FileInfo(path, found["size"], found["last_modified"].astimezone(UTC))
                    elif path > prefix and not path.startswith(prefix):
                        return

    def _deleted_singly(self, paths: Iterable[str]) -> DeleteFailures:
        failures = []
        for path in paths:
            try:
                self.delete(path)
            except LakebedError as error:
                failures.append(DeleteFailure(path, error))
        return failures


class _NewObject(io.RawIOBase):
    """The raw file under `create`: kept in memory up to a part, else sent in parts that are joined at the end."""

    def __init__(self, store: ObjectStore, key: str, path: str) -> None:
        self._store, self._key, self._path = store, key, path
        self._kept = bytearray()
        self._upload: Any = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self._upload is None and len(self._kept) + len(view) <= PART:
            self._kept += view
            return len(view)
        with changing(self._path):
            if self._upload is None:
                self._upload = obstore.open_writer(self._store, self._key, buffer_size=PART)
                self._upload.__enter__()
                self._upload.write(bytes(self._kept))
                self._kept.clear()
            self._upload.write(bytes(view))
        return len(view)

    def finish(self) -> bytes | None:
        """Join the parts; or what was written, if it is small enough for one put."""
        if self._upload is None:
            return bytes(self._kept)
        with changing(self._path):
            self._upload.__exit__(None, None, None)
        return None

    def abandon(self, error: BaseException) -> None:
        if self._upload is not None:
            self._upload.__exit__(type(error), error, None)


def _offset(text: str) -> str:
    """The text as a path that obstore takes: without an end that is not the name of an object."""
    text = text.rstrip("/")
    while text.rpartition("/")[2] in (".", ".."):
        text = text.rpartition("/")[0]
    return text


def _batches(paths: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (paths[start : start + size] for start in range(0, len(paths), size))

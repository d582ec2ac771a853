"""Files in object stores: the suite in memory and on moto's S3, races, lost answers, what is shown of credentials."""

import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import ObjectStore

from lakebed.errors import AlreadyExists, Forbidden, Invalid, OutcomeUnknown, Unavailable
from lakebed.files import Files, open_files
from lakebed.files.objects import PART, ObjectFiles
from lakebed.testing.files import FilesSuite, Outside, paths_of
from tests.support.objects_in_memory import STORES, InMemory


@pytest.fixture
def files() -> Iterator[ObjectFiles]:
    bucket = uuid4().hex
    yield InMemory(f"s3://{bucket}/lake of mine")
    del STORES[bucket]


@pytest.fixture
def outside(files: ObjectFiles) -> Outside:
    return putting_outside(files)


def putting_outside(files: ObjectFiles) -> Outside:
    def put(name: str, data: bytes) -> str:
        obstore.put(files._store, f"theirs/{name}", data)
        return f"s3://{files._place.bucket}/theirs/{name}"

    return put


class TestInMemory(FilesSuite):
    pass


@pytest.mark.long
class TestOnS3(FilesSuite):
    @pytest.fixture
    def files(self, s3: dict[str, str]) -> ObjectFiles:
        return ObjectFiles(f"s3://lakebed/{uuid4().hex}", s3)

    @pytest.fixture
    def outside(self, files: ObjectFiles) -> Outside:
        return putting_outside(files)


# Races


def racers(files: Files, writers: int, rounds: int) -> None:
    barrier = threading.Barrier(writers)

    def put(me: int) -> list[int]:
        won = []
        for turn in range(rounds):
            barrier.wait()
            try:
                files.put_if_absent(f"race/{turn}/slot", bytes([me]) * 2000)
            except AlreadyExists:
                continue
            won.append(turn)
        return won

    with ThreadPoolExecutor(writers) as pool:
        winners = {me: set(won) for me, won in enumerate(pool.map(put, range(writers)))}
    for turn in range(rounds):
        (winner,) = [me for me, won in winners.items() if turn in won]
        assert files.read(f"race/{turn}/slot") == bytes([winner]) * 2000


def test_of_16_threads_that_put_one_object_exactly_one_wins(files: ObjectFiles) -> None:
    racers(files, 16, 20)


def test_of_16_threads_that_put_one_object_on_s3_exactly_one_wins(s3: dict[str, str]) -> None:
    racers(ObjectFiles(f"s3://lakebed/{uuid4().hex}", s3), 16, 3)


# Lost answers


class Losing:
    """`obstore.put` whose answer is lost, before or after it took effect."""

    def __init__(self, effect: bool, *, again: bool = False, meanwhile: Any = None) -> None:
        self.effect, self.again, self.meanwhile, self.calls = effect, again, meanwhile, 0
        self.put = obstore.put

    def __call__(self, store: ObjectStore, key: str, body: bytes, **options: Any) -> Any:
        self.calls += 1
        if self.meanwhile is not None:
            self.meanwhile()
        if self.effect:
            self.put(store, key, body, **options)
        if self.again:  # obstore's own second try
            return self.put(store, key, body, **options)
        raise GenericError("error sending request")


def test_a_lost_answer_of_a_put_that_took_effect_is_recognised(files: ObjectFiles, monkeypatch: Any) -> None:
    monkeypatch.setattr(obstore, "put", Losing(True))
    files.put_if_absent("a", b"mine")
    assert files.read("a") == b"mine"


def test_a_put_that_meets_its_own_object_has_won(files: ObjectFiles, monkeypatch: Any) -> None:
    """What it did: the library sent the put again, was answered that the path is taken, and so had lost to itself."""
    monkeypatch.setattr(obstore, "put", Losing(True, again=True))
    files.put_if_absent("a", b"mine")
    assert files.read("a") == b"mine"


def test_equal_bytes_of_another_writer_are_not_taken_for_ones_own(files: ObjectFiles, monkeypatch: Any) -> None:
    files.put_if_absent("a", b"same")
    with pytest.raises(AlreadyExists):
        files.put_if_absent("a", b"same")
    monkeypatch.setattr(obstore, "put", Losing(False))
    with pytest.raises(AlreadyExists):
        files.put_if_absent("a", b"same")


def test_a_put_without_an_answer_that_is_not_there_may_still_arrive(files: ObjectFiles, monkeypatch: Any) -> None:
    monkeypatch.setattr(obstore, "put", Losing(False))
    for call in (files.put, files.put_if_absent):
        with pytest.raises(OutcomeUnknown) as caught:
            call("a", b"x")
        assert (caught.value.subject, caught.value.advice) == ("a", "Read the file back before you write it again.")


def test_a_conflict_with_an_object_that_is_gone_is_tried_again(files: ObjectFiles, monkeypatch: Any) -> None:
    """S3 answers 409 to a conditional put that meets a delete: nobody has the path."""
    put, answers = obstore.put, iter([True, False])

    def refused_once(*args: Any, **options: Any) -> Any:
        if next(answers):
            raise obstore.exceptions.PreconditionError("ConditionalRequestConflict")
        return put(*args, **options)

    monkeypatch.setattr(obstore, "put", refused_once)
    files.put_if_absent("a", b"x")
    assert files.read("a") == b"x"


def test_a_store_that_fails_is_not_a_missing_file(files: ObjectFiles, monkeypatch: Any) -> None:
    def failing(*args: Any, **options: Any) -> Any:
        raise GenericError("HTTP error: 503 Service Unavailable")

    files.put("a", b"x")
    monkeypatch.setattr(obstore, "head", failing)
    for call in (files.exists, files.head, files.size):
        with pytest.raises(Unavailable, match="503"):
            call("a")


# Large files


def test_a_large_file_is_sent_in_parts_and_is_not_there_before_its_end(files: ObjectFiles) -> None:
    piece = bytes(range(256)) * 4096
    with files.create("a") as file:
        for _ in range(2 * PART // len(piece) + 1):
            file.write(piece)
        assert paths_of(files.list()) == []
    assert files.size("a") == 2 * PART + len(piece)
    assert files.read("a", 2 * PART) == piece


def test_a_large_file_is_gone_after_an_error(files: ObjectFiles) -> None:
    with pytest.raises(ZeroDivisionError), files.create("a") as file:
        file.write(b"x" * (PART + 1))
        raise ZeroDivisionError
    assert paths_of(files.list()) == []


# Credentials and URLs


def test_credentials_are_not_shown(s3: dict[str, str]) -> None:
    wrong = ObjectFiles("s3://lakebed/a", {**s3, "secret_access_key": "do-not-show-this"})
    assert "do-not-show" not in repr(wrong)
    nobody = ObjectFiles("s3://lakebed/a", {**s3, "endpoint": "http://127.0.0.1:9", "secret_access_key": "hidden-key"})
    nobody._store = obstore.store.S3Store(  # without waiting for more tries
        "lakebed",
        config={**_config(nobody), "endpoint": "http://127.0.0.1:9"},
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    with pytest.raises(Unavailable) as caught:
        nobody.read("a")
    assert "hidden-key" not in str(caught.value) + repr(caught.value.__dict__)
    assert caught.value.__cause__ is None


def _config(files: ObjectFiles) -> Any:
    return {name: value for name, value in files._storage.items() if name != "allow_http"}


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(Invalid, match="accesskey"):
        ObjectFiles("s3://bucket/lake", {"accesskey": "x"})


@pytest.mark.parametrize(
    "url", ["s3://", "s3:///lake", "http://bucket/lake", "bucket/lake", "s3://key:secret@bucket/a"]
)
def test_what_is_not_the_url_of_an_object_store_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        ObjectFiles(url)
    assert "secret" not in str(caught.value)


def test_files_are_opened_by_their_url(s3: dict[str, str], tmp_path: Path) -> None:
    stored = open_files(f"s3://lakebed/{uuid4().hex}", s3)
    for files in (stored, open_files(str(tmp_path)), open_files(tmp_path.as_uri())):
        files.put("a", b"x")
        assert open_files(files.url, s3 if files is stored else None).read("a") == b"x"
    with pytest.raises(Invalid, match="region"):
        open_files(str(tmp_path), {"region": "us-east-1"})


def test_a_url_in_another_spelling_is_the_same_lake() -> None:
    assert InMemory("s3a://bucket/a/b/").url == InMemory("s3://bucket/a/b").url == "s3://bucket/a/b"
    assert InMemory("s3://bucket").location("a b") == "s3://bucket/a b"


def test_a_bucket_that_is_not_there_is_not_an_empty_lake(s3: dict[str, str]) -> None:
    files = ObjectFiles("s3://nobody-made-this/lake", s3)
    with pytest.raises(Unavailable, match="bucket"):
        files.put_if_absent("a", b"x")
    with pytest.raises(Unavailable):
        list(files.list())
    with pytest.raises(Unavailable):
        files.read("a")


def test_a_handle_works_in_another_process(s3: dict[str, str]) -> None:
    files = ObjectFiles(f"s3://lakebed/{uuid4().hex}", s3)
    files.put("a", b"x")
    assert pickle.loads(pickle.dumps(files)).read("a") == b"x"
    assert urlsplit(files.url).scheme == "s3"


def test_a_small_lake_of_files_works_on_s3(s3: dict[str, str]) -> None:
    """The suite runs there in `make test-all`; this is its gist."""
    files = ObjectFiles(f"s3://lakebed/{uuid4().hex}", s3)
    files.put_if_absent("a/b c", b"0123456789")
    with pytest.raises(AlreadyExists):
        files.put_if_absent("a/b c", b"other")
    assert files.read_ranges("a/b c", [(8, 2), (0, 1), (4, 0)]) == [b"89", b"0", b""]
    with files.create("a/large") as file:
        file.write(b"x" * (PART + 5))
    assert [(info.path, info.size) for info in files.list("a/")] == [("a/b c", 10), ("a/large", PART + 5)]
    files.sync(["a/b c", "a/large"])
    assert files.delete_many(["a/large", "a/none", "../a"])[0].path == "../a"
    assert paths_of(files.list()) == ["a/b c"]


def test_a_refused_request_is_forbidden(files: ObjectFiles, monkeypatch: Any) -> None:
    def denied(*args: Any, **options: Any) -> Any:
        raise obstore.exceptions.PermissionDeniedError("AccessDenied")

    monkeypatch.setattr(obstore, "put", denied)
    for call in (files.put, files.put_if_absent):
        with pytest.raises(Forbidden):
            call("a", b"x")

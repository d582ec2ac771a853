"""The suite that every `Files` passes: subclass it, with a fixture `files` that gives an empty one."""

import pickle
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed.errors import AlreadyExists, Corrupt, Invalid, LakebedError, NotFound
from lakebed.files import FileInfo, Files

BAD_URLS = {
    "is of another machine": "file://host/a",
    "is of another place": "s3://bucket/a",
    "is relative": "file://a",
    "has two slashes": "file:///a//b",
    "has dots": "file:///a/../b",
    "has quoted dots": "file:///a/%2e%2e/b",
    "has a dot part": "file:///a/./b",
    "ends with a slash": "file:///a/",
    "is the root of all": "file:///",
    "has a NUL": "file:///a%00b",
    "has a newline": "file:///a%0Ab",
    "is not Unicode": "file:///a%80b",
    "has a space": "file:///a b",
    "quotes too much": "file:///%61",
    "quotes in small letters": "file:///a%2cb",
}
BAD_PATHS = {
    "empty": "",
    "absolute": "/a",
    "leaves the root": "../a",
    "leaves and returns": "a/../../a",
    "has dots inside": "a/../b",
    "is dots alone": "..",
    "has a dot part": "a/./b",
    "has an empty part": "a//b",
    "ends with a slash": "a/",
    "has a backslash": "a\\b",
    "has a NUL": "a\0b",
    "has a newline": "a\nb",
    "has a C1 control": "a\x85b",
    "is not Unicode": "a\udc80b",
    "has a long part": "é" * 128,
    "is too long": "/".join(["x" * 200] * 6),
    "is a temporary's": "a/.tmp-1",
    "is in a temporary's folder": ".tmp-1/a",
}

CALLS: dict[str, Callable[[Files, str], Any]] = {
    "location": lambda files, path: files.location(path),
    "read": lambda files, path: files.read(path),
    "read_ranges": lambda files, path: files.read_ranges(path, [(0, 1)]),
    "head": lambda files, path: files.head(path),
    "size": lambda files, path: files.size(path),
    "exists": lambda files, path: files.exists(path),
    "put": lambda files, path: files.put(path, b"x"),
    "put_if_absent": lambda files, path: files.put_if_absent(path, b"x"),
    "create": lambda files, path: files.create(path).__enter__(),
    "delete": lambda files, path: files.delete(path),
    "sync": lambda files, path: files.sync([path]),
}

# Few letters, so that paths share folders and prefixes; those around "/" in byte order, and beyond ASCII.
PARTS = st.text("ab-./0é\U0001f30a", min_size=1, max_size=3).filter(lambda part: "/" not in part and part.strip("."))
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


UNCHECKED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow]
"""The fixture gives one place for all examples, several classes run the suite, and machines are shared."""


def one_or_folder(paths: set[str]) -> set[str]:
    """Leave out the paths that others need as folders."""
    return {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}


def paths_of(found: Iterator[FileInfo]) -> list[str]:
    return [info.path for info in found]


Outside = Callable[[str, bytes], str]
"""Puts a file outside the root, at this place of an empty folder, and answers its address."""


class FilesSuite:
    @pytest.mark.parametrize(
        "data",
        [b"", b"abc", bytearray(b"abc"), memoryview(b"abcdef")[::2]],
        ids=["empty", "bytes", "bytearray", "strided view"],
    )
    @pytest.mark.parametrize("call", ["put", "put_if_absent"])
    def test_what_was_put_is_read_back(self, files: Files, call: str, data: Any) -> None:
        getattr(files, call)("a/b/whole", data)
        getattr(files, call)("a/b/pieces", [data, b"", data])
        assert files.read("a/b/whole") == bytes(data)
        assert files.read("a/b/pieces") == bytes(data) * 2

    def test_an_iterator_is_put_piece_by_piece(self, files: Files) -> None:
        files.put("a", (bytes([n]) * 70_000 for n in range(40)))
        assert files.read("a") == b"".join(bytes([n]) * 70_000 for n in range(40))

    @pytest.mark.parametrize("data", ["text", ["text"], 5, [5], None], ids=repr)
    def test_data_that_is_not_bytes_is_refused(self, files: Files, data: Any) -> None:
        with pytest.raises(Invalid) as caught:
            files.put("a", data)
        assert caught.value.subject == "a"
        assert not files.exists("a")

    def test_put_replaces_the_whole_file(self, files: Files) -> None:
        files.put("a", b"a long first content")
        files.put("a", b"short")
        assert files.read("a") == b"short"

    def test_put_if_absent_leaves_what_is_there(self, files: Files) -> None:
        files.put_if_absent("a/b", b"first")
        with pytest.raises(AlreadyExists) as caught:
            files.put_if_absent("a/b", b"second")
        assert caught.value.subject == "a/b"
        assert files.read("a/b") == b"first"
        assert paths_of(files.list()) == ["a/b"]

    def test_a_path_is_free_again_after_delete(self, files: Files) -> None:
        files.put_if_absent("a", b"first")
        files.delete("a")
        files.put_if_absent("a", b"second")
        assert files.read("a") == b"second"

    @pytest.mark.parametrize("call", ["put", "put_if_absent"])
    def test_a_source_that_fails_puts_nothing_and_its_error_passes_through(self, files: Files, call: str) -> None:
        def source() -> Iterator[bytes]:
            yield b"half"
            raise FileNotFoundError("the source's own error")

        with pytest.raises(FileNotFoundError, match="the source's own error"):
            getattr(files, call)("a/b", source())
        assert paths_of(files.list()) == []

    def test_a_failed_put_keeps_the_old_content(self, files: Files) -> None:
        files.put("a", b"old")
        with pytest.raises(Invalid):
            files.put("a", [b"new", "text"])  # type: ignore[list-item]
        assert files.read("a") == b"old"

    def test_a_range_is_read(self, files: Files) -> None:
        files.put("a", b"0123456789")
        assert files.read("a", 3) == b"3456789"
        assert files.read("a", 3, 4) == b"3456"
        assert files.read("a", length=2) == b"01"
        assert files.read("a", 10) == b""
        assert files.read("a", 10, 0) == b""

    def test_many_ranges_are_read_in_the_order_asked(self, files: Files) -> None:
        files.put("a", b"0123456789")
        assert files.read_ranges("a", [(8, 2), (0, 1), (0, 10), (4, 0)]) == [b"89", b"0", b"0123456789", b""]
        assert files.read_ranges("a", []) == []

    def test_a_start_beyond_the_end_is_invalid(self, files: Files) -> None:
        files.put("a", b"0123456789")
        with pytest.raises(Invalid) as caught:
            files.read("a", 11)
        assert caught.value.subject == "a"
        with pytest.raises(Invalid):
            files.read_ranges("a", [(0, 1), (11, 0)])

    @pytest.mark.parametrize("start, length", [(-1, None), (-1, 1), (0, -1)])
    def test_a_negative_range_is_invalid(self, files: Files, start: int, length: int | None) -> None:
        files.put("a", b"0123456789")
        with pytest.raises(Invalid):
            files.read("a", start, length)

    def test_a_file_shorter_than_the_length_asked_for_is_corrupt(self, files: Files) -> None:
        files.put("a", b"0123456789")
        with pytest.raises(Corrupt) as caught:
            files.read("a", 8, 1 << 50)
        assert (caught.value.expected, caught.value.found) == (f"{1 << 50} bytes from 8 on", "2 bytes")
        with pytest.raises(Corrupt):
            files.read_ranges("a", [(0, 1), (5, 6)])

    def test_head_tells_size_and_time(self, files: Files) -> None:
        before = datetime.now(UTC)
        files.put("a/b", b"12345")
        info = files.head("a/b")
        assert (info.path, info.size) == ("a/b", 5)
        assert info.modified.utcoffset() == timedelta(0)
        assert abs(info.modified - before) < timedelta(hours=1)  # the store's clock may differ
        assert files.size("a/b") == 5
        assert list(files.list()) == [info]

    @pytest.mark.parametrize("call", ["read", "read_ranges", "head", "size", "sync"])
    @pytest.mark.parametrize("path", ["absent", "absent/deep", "folder", "folder/file/below"])
    def test_what_is_not_there_is_not_found(self, files: Files, call: str, path: str) -> None:
        files.put("folder/file", b"x")
        with pytest.raises(NotFound) as caught:
            CALLS[call](files, path)
        assert caught.value.subject == path
        assert not files.exists(path)

    def test_deleting_what_is_not_there_is_fine(self, files: Files) -> None:
        files.put("folder/file", b"x")
        for path in ("absent", "absent/deep", "folder", "folder/file/below"):
            files.delete(path)
        assert files.read("folder/file") == b"x"

    def test_deleting_many_goes_on_after_a_failure(self, files: Files) -> None:
        for path in ("a", "b/1", "b/2", "c"):
            files.put(path, b"x")
        failures = files.delete_many(["a", "../c", "absent", "b/1", "b/2"])
        assert [(failure.path, failure.error.kind) for failure in failures] == [("../c", "invalid")]
        assert paths_of(files.list()) == ["c"]

    def test_deleting_a_folder_deletes_what_is_below_it_alone(self, files: Files) -> None:
        for path in ("a/1", "a/b/2", "ab/3", "a.b", "c/a/4"):
            files.put(path, b"x")
        assert files.delete_folder("a") == []
        assert files.delete_folder("absent") == []
        assert paths_of(files.list()) == ["a.b", "ab/3", "c/a/4"]
        for folder in ("", "..", "/a", "a/../ab"):
            with pytest.raises(Invalid):
                files.delete_folder(folder)
        assert paths_of(files.list()) == ["a.b", "ab/3", "c/a/4"]

    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("path", BAD_URLS.values(), ids=BAD_URLS.keys())
    def test_a_bad_url_is_refused_by_every_call(self, files: Files, call: str, path: str) -> None:
        with pytest.raises(Invalid) as caught:
            CALLS[call](files, path)
        assert caught.value.advice
        str(caught.value).encode()

    @pytest.mark.parametrize("name", ["a.parquet", "a b/c d", "100%/%41", "ünï/\U0001f30a", "#a?b=c&d", "[a]{b}*"])
    def test_a_file_outside_is_read_by_its_url(self, files: Files, outside: Outside, name: str) -> None:
        address = outside(name, b"0123456789")
        path = files.path_of(address)
        assert path.isascii()
        assert "://" in path
        assert files.read(path) == b"0123456789"
        assert files.read(path, 3, 4) == b"3456"
        assert files.read_ranges(path, [(8, 2), (0, 1)]) == [b"89", b"0"]
        assert (files.head(path).path, files.head(path).size, files.size(path)) == (path, 10, 10)
        assert files.exists(path)
        assert files.location(path) == address
        assert files.path_of(path) == files.path_of(files.location(path)) == path
        files.sync([path, path])
        with pytest.raises(Corrupt):
            files.read(path, 0, 11)
        assert paths_of(files.list()) == []

    def test_a_file_outside_that_is_not_there_is_not_found(self, files: Files, outside: Outside) -> None:
        path = files.path_of(outside("folder/file", b"x"))
        for absent in (f"{path}2", f"{path}/below", path.rpartition("/")[0]):
            assert not files.exists(absent)
            for call in ("read", "read_ranges", "head", "size", "sync"):
                with pytest.raises(NotFound) as caught:
                    CALLS[call](files, absent)
                assert caught.value.subject == absent

    @pytest.mark.parametrize("call", ["put", "put_if_absent", "create", "delete"])
    def test_a_file_outside_is_never_written_or_deleted(self, files: Files, outside: Outside, call: str) -> None:
        path = files.path_of(outside("a", b"theirs"))
        for one in (path, f"{path}2"):
            with pytest.raises(Invalid, match="can only be read"):
                CALLS[call](files, one)
        files.put("b", b"ours")
        [failure] = files.delete_many([path, "b"])
        assert (failure.path, failure.error.kind) == (path, "invalid")
        assert files.read(path) == b"theirs"
        assert not files.exists(f"{path}2")
        assert not files.exists("b")

    def test_nothing_is_synced_if_a_file_outside_is_not_there(self, files: Files, outside: Outside) -> None:
        files.put("a", b"x")
        with pytest.raises(NotFound):
            files.sync(["a", files.path_of(outside("b", b"x")) + "2"])

    @settings(max_examples=40, suppress_health_check=UNCHECKED)
    @given(PATHS)
    def test_a_path_is_found_again_by_its_location(self, files: Files, path: str) -> None:
        assert files.path_of(files.location(path)) == path

    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("path", BAD_PATHS.values(), ids=BAD_PATHS.keys())
    def test_a_bad_path_is_refused_by_every_call(self, files: Files, call: str, path: str) -> None:
        with pytest.raises(Invalid) as caught:
            CALLS[call](files, path)
        assert caught.value.advice
        str(caught.value).encode()  # can be printed, whatever the path held

    def test_a_list_is_in_byte_order_of_the_whole_path(self, files: Files) -> None:
        expected = ["Z", "a!/x", "a-b", "a.b", "a/b", "a/b.c", "a/c/d", "a0", "é", "\uffff", "\U0001f30a"]
        for path in sorted(expected, reverse=True):
            files.put(path, b"x")
        assert paths_of(files.list()) == expected

    def test_a_prefix_is_text_and_not_a_folder(self, files: Files) -> None:
        for path in ("a/b", "a/bc/d", "a/c", "ab"):
            files.put(path, b"x")
        assert paths_of(files.list("a")) == ["a/b", "a/bc/d", "a/c", "ab"]
        assert paths_of(files.list("a/")) == ["a/b", "a/bc/d", "a/c"]
        assert paths_of(files.list("a/b")) == ["a/b", "a/bc/d"]
        assert paths_of(files.list("a/bc/")) == ["a/bc/d"]
        assert paths_of(files.list("x/y")) == paths_of(files.list("a/b/")) == []

    @pytest.mark.parametrize("prefix", ["/", "/a", "../", "a/../b", "a//", "./", "a\0", "a\\", ".tmp-1/"])
    def test_a_prefix_that_no_path_can_have_is_refused_at_once(self, files: Files, prefix: str) -> None:
        with pytest.raises(Invalid):
            files.list(prefix)

    def test_a_list_goes_on_after_a_path_and_stops_at_the_limit(self, files: Files) -> None:
        paths = ["a-b", "a/1", "a/2", "b/1", "c"]
        for path in paths:
            files.put(path, b"x")
        assert paths_of(files.list(after="a/1")) == ["a/2", "b/1", "c"]
        assert paths_of(files.list(after="a/1", limit=2)) == ["a/2", "b/1"]
        assert paths_of(files.list("a/", after="a/1")) == ["a/2"]
        assert paths_of(files.list(after="a")) == paths  # need not exist
        assert paths_of(files.list(limit=0)) == []
        with pytest.raises(Invalid):
            files.list(limit=-1)

    def test_a_file_that_vanishes_while_listing_is_tolerated(self, files: Files) -> None:
        for n in range(20):
            files.put(f"{n // 5}/{n:02}", b"x")
        found = files.list()
        first = next(found).path
        files.delete_many([f"{n // 5}/{n:02}" for n in range(1, 19)])
        seen = [first, *paths_of(found)]
        assert seen[0] == "0/00"
        assert seen[-1] == "3/19"
        assert seen == sorted(seen)

    def test_a_created_file_is_there_after_the_with(self, files: Files) -> None:
        with files.create("data/1/a.parquet") as file:
            file.write(b"PAR1")
            file.write(b"x" * 3_000_000)
        assert files.read("data/1/a.parquet") == b"PAR1" + b"x" * 3_000_000

    def test_a_writer_may_close_its_created_file(self, files: Files) -> None:
        with files.create("a") as file:
            file.write(b"PAR1")
            file.close()
        assert files.read("a") == b"PAR1"

    def test_a_created_file_is_gone_after_an_error(self, files: Files) -> None:
        with pytest.raises(ZeroDivisionError), files.create("a/b") as file:
            file.write(b"x" * 3_000_000)
            raise ZeroDivisionError
        assert paths_of(files.list()) == []

    def test_create_leaves_what_is_there(self, files: Files) -> None:
        files.put("a", b"first")
        with pytest.raises(AlreadyExists), files.create("a"):
            pass
        assert files.read("a") == b"first"

    def test_sync_takes_files_that_are_there(self, files: Files) -> None:
        for path in ("a/b/1", "a/b/2", "c"):
            files.put(path, b"x")
        files.sync(["a/b/1", "a/b/2", "c", "c"])
        files.sync([])

    def test_a_sweep_leaves_the_files(self, files: Files) -> None:
        files.put("a/b", b"x")
        assert files.sweep_temporaries(0) == 0
        assert files.read("a/b") == b"x"
        with pytest.raises(Invalid):
            files.sweep_temporaries(-1)

    def test_a_location_is_the_full_address(self, files: Files) -> None:
        assert "://" in files.url
        assert files.location("a/b c.parquet").endswith("/a/b c.parquet")

    def test_files_can_be_sent_to_another_process(self, files: Files) -> None:
        files.put("a", b"x")
        assert pickle.loads(pickle.dumps(files)).read("a") == b"x"

    @settings(max_examples=60, deadline=None, suppress_health_check=UNCHECKED)
    @given(st.sets(PATHS, max_size=12), st.text("ab-./0é", max_size=4), PATHS, st.integers(0, 6))
    def test_a_list_is_the_sorted_keys_of_a_dict(
        self, files: Files, paths: set[str], prefix: str, after: str, limit: int
    ) -> None:
        top = uuid.uuid4().hex  # one fixture for all examples
        model = {f"{top}/{path}": path.encode() for path in one_or_folder(paths)}
        for path, data in model.items():
            files.put_if_absent(path, data)
        ordered = sorted(model, key=str.encode)
        for begin in (f"{top}/", f"{top}/{prefix}"):
            try:
                found = files.list(begin)
            except Invalid:
                assert not any(path.startswith(begin) for path in ordered)
                continue
            assert [(info.path, info.size) for info in found] == [
                (path, len(model[path])) for path in ordered if path.startswith(begin)
            ]
            rest = [path for path in ordered if path.startswith(begin) and path.encode() > f"{top}/{after}".encode()]
            assert paths_of(files.list(begin, after=f"{top}/{after}", limit=limit)) == rest[:limit]
        assert files.delete_many(ordered) == []
        assert paths_of(files.list(f"{top}/")) == []

    @settings(max_examples=40, deadline=None, suppress_health_check=UNCHECKED)
    @given(
        steps=st.lists(
            st.tuples(
                st.sampled_from(["put", "put_if_absent", "create", "delete", "delete_many", "read", "sync"]),
                st.sampled_from(["a", "b/c", "b/d/e", "b.c"]),
                st.binary(max_size=5),
            ),
            max_size=25,
        )
    )
    def test_any_steps_do_what_a_dict_does(self, files: Files, steps: list[tuple[str, str, bytes]]) -> None:
        top = uuid.uuid4().hex
        model: dict[str, bytes] = {}
        for call, name, data in steps:
            path = f"{top}/{name}"
            assert outcome(files, call, path, data) == modelled(model, call, path, data)
            assert [(info.path, files.read(info.path)) for info in files.list(f"{top}/")] == sorted(model.items())


def outcome(files: Files, call: str, path: str, data: bytes) -> Any:
    try:
        match call:
            case "put" | "put_if_absent":
                return getattr(files, call)(path, data)
            case "create":
                with files.create(path) as file:
                    file.write(data)
                return None
            case "delete_many" | "sync":
                return getattr(files, call)([path]) or None
            case _:
                return getattr(files, call)(path)
    except LakebedError as error:
        return error.kind


def modelled(model: dict[str, bytes], call: str, path: str, data: bytes) -> Any:
    match call:
        case "put_if_absent" | "create" if path in model:
            return "already_exists"
        case "put" | "put_if_absent" | "create":
            model[path] = data
        case "delete" | "delete_many":
            model.pop(path, None)
        case "read":
            return model.get(path, "not_found")
        case "sync" if path not in model:
            return "not_found"
    return None

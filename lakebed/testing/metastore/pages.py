"""Pages: each item once, as of the first page's version, whatever commits in between; foreign tokens are refused."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lakebed.errors import Invalid
from lakebed.metastore.kinds import new_id
from lakebed.metastore.metastore import Metastore, Reader
from lakebed.metastore.pages import LIMIT, Page
from lakebed.records.layout import Attribute
from lakebed.testing.metastore.writer import Writer, all_pages, trunk

SIZES = [1, 2, 7, 1000]


class _Grove:
    """A trunk, a branch of it and a branch of that, with names, dropped names, histories and commits on each."""

    def __init__(self, metastore: Metastore) -> None:
        self.metastore = metastore
        self.trunk = Writer(metastore, trunk())
        self.table = self.trunk.table("the table")
        self.parent = self.trunk.namespace("parent")
        self._grow(self.trunk, "t")
        self.child = self.trunk.fork()
        self._grow(self.trunk, "late")
        self._grow(self.child, "c")
        self.grandchild = self.child.fork()
        self._grow(self.child, "later")
        self._grow(self.grandchild, "g")
        self._prune(self.grandchild)

    def _grow(self, writer: Writer, mark: str) -> None:
        made = [writer.table(f"{number:02} {mark}", self.parent) for number in range(6)]
        for number, table in enumerate(made[:3]):
            writer.drop(table)
            writer.set(self.table, number)

    def _prune(self, writer: Writer) -> None:
        """Hide, rename and bring back some of what was inherited."""
        inherited = [child for child in all_pages(writer.reader().children, self.parent) if child.name[-1] in "tc"]
        writer.drop(inherited[0].id)
        writer.rename(inherited[1].id, "zz")
        writer.rename(inherited[2].id, inherited[2].name.upper())
        gone = next(one for one in all_pages(writer.reader().dropped, self.parent) if one.name[-1] == "t")
        writer.undrop(gone.id)

    def disturb(self) -> None:
        """One commit of each kind on every line, between two pages."""
        for writer in (self.trunk, self.child, self.grandchild):
            there = all_pages(writer.reader().children, self.parent)
            writer.table(f"!{new_id()[:8]}", self.parent)
            writer.table(f"zzz{new_id()[:8]}", self.parent)
            writer.drop(there[-1].id)
            writer.rename(there[0].id, f"05 {new_id()[:8]}")
            writer.set(self.table, 77)


def questions(grove: _Grove) -> dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]]:
    return {
        "children": ("children", (grove.parent,), {}),
        "children with a prefix": ("children", (grove.parent,), {"prefix": "0"}),
        "dropped": ("dropped", (grove.parent,), {}),
        "dropped of a name": ("dropped", (grove.parent,), {"name": "01 T"}),
        "history": ("history", (grove.table, Attribute.PROPERTIES), {}),
        "log": ("log", (), {}),
        "log of an object": ("log", (), {"object_id": grove.table}),
        "log of an author": ("log", (), {"author": "ada"}),
    }


QUESTIONS = (
    "children",
    "children with a prefix",
    "dropped",
    "dropped of a name",
    "history",
    "log",
    "log of an object",
    "log of an author",
)


def asked(reader: Reader, question: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Callable[..., Page[Any]]:
    method, arguments, filters = question

    def ask(limit: int, token: str | None = None) -> Page[Any]:
        found: Page[Any] = getattr(reader, method)(*arguments, limit=limit, token=token, **filters)
        return found

    return ask


def disturbed(grove: _Grove, question: tuple[str, tuple[Any, ...], dict[str, Any]], size: int) -> Iterator[Any]:
    """Every item, page by page, while others write, each page asked of a new reader at the newest version."""
    token = None
    for turn in range(1000):
        page = asked(grove.grandchild.reader(), question)(size, token)
        assert len(page.items) <= size
        yield from page.items
        if page.token is None:
            return
        token = page.token
        if turn % 5 == 0:
            grove.disturb()
    raise AssertionError("the pages have no end")


class PagesSuite:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("name", QUESTIONS)
    def test_pages_hold_each_item_once_as_of_the_first_one_while_writers_run(
        self, metastore: Metastore, name: str, size: int
    ) -> None:
        """P24."""
        grove = _Grove(metastore)
        question = questions(grove)[name]
        expected = asked(grove.grandchild.reader(), question)(LIMIT).items
        assert len(expected) >= 1 if name == "dropped of a name" else len(expected) > 7
        assert list(disturbed(grove, question, size)) == expected

    @pytest.mark.parametrize("name", QUESTIONS)
    def test_a_token_of_another_question_is_refused(self, metastore: Metastore, name: str) -> None:
        grove = _Grove(metastore)
        grove.child.drop(grove.child.table("01 T", grove.parent))
        asking = questions(grove)
        token = asked(grove.child.reader(), asking[name])(1).token
        if token is None:
            token = asked(grove.child.reader(), asking["dropped"])(1).token
            name = "dropped"
        assert token is not None
        for other, question in asking.items():
            for writer in (grove.trunk, grove.child, grove.grandchild):
                if (other, writer) != (name, grove.child):
                    with pytest.raises(Invalid):
                        asked(writer.reader(), question)(1, token)
        with pytest.raises(Invalid):
            grove.child.reader().children(grove.trunk.line.top, token=token)
        with pytest.raises(Invalid):
            grove.child.reader().history(grove.parent, Attribute.PROPERTIES, token=token)
        with pytest.raises(Invalid):
            grove.child.reader().log(since=0, token=token)

    @pytest.mark.parametrize("name", ["children", "dropped", "history", "log"])
    def test_a_damaged_token_is_refused(self, metastore: Metastore, name: str) -> None:
        grove = _Grove(metastore)
        ask = asked(grove.child.reader(), questions(grove)[name])
        token = ask(2).token
        assert token is not None
        raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        for place in range(len(raw)):
            raw[place] ^= 1
            with pytest.raises(Invalid):
                ask(2, base64.urlsafe_b64encode(raw).decode().rstrip("="))
            raw[place] ^= 1
        for damaged in ("", "x", token[:-1], token[1:], token + "A", token + token, "é", "\0", "=" * 50, token + "\n"):
            with pytest.raises(Invalid):
                ask(2, damaged)

    @pytest.mark.parametrize("name", ["children", "dropped", "history", "log"])
    @pytest.mark.parametrize("limit", [0, -1, LIMIT + 1])
    def test_a_limit_out_of_bounds_is_refused(self, metastore: Metastore, name: str, limit: int) -> None:
        grove = _Grove(metastore)
        with pytest.raises(Invalid):
            asked(grove.child.reader(), questions(grove)[name])(limit)

    def test_a_token_is_good_for_another_limit_and_as_often_as_one_likes(self, metastore: Metastore) -> None:
        grove = _Grove(metastore)
        reader = grove.grandchild.reader()
        whole = all_pages(reader.children, grove.parent)
        token = reader.children(grove.parent, limit=3).token
        for limit in (1, 2, 100, 1):
            assert reader.children(grove.parent, limit=limit, token=token).items == whole[3 : 3 + limit]

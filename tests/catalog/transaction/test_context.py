"""Guesses of where objects are: they save round trips and are never believed."""

import lakebed
from lakebed.catalog.transaction import context
from lakebed.catalog.transaction.context import ParentCache


def test_an_object_is_guessed_in_what_it_was_last_seen_in():
    seen = ParentCache()
    assert list(seen.guess("table", "top")) == ["table"]
    seen.learn("table", "inner")
    seen.learn("inner", "outer")
    seen.learn("outer", "top")
    assert list(seen.guess("table", "top")) == ["table", "inner", "outer"]
    seen.learn("table", "outer")
    assert list(seen.guess("table", "top")) == ["table", "outer"]


def test_guesses_that_go_round_end():
    seen = ParentCache()
    seen.learn("a", "b")
    seen.learn("b", "a")
    assert {"a", "b"} == set(seen.guess("a", "top"))


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(context, "CACHE_SIZE", 3)
    seen = ParentCache()
    for number in range(10):
        seen.learn(str(number), "top")
    assert len(seen._containers) <= 3


def test_a_wrong_guess_changes_no_answer(tmp_path):
    with lakebed.connect(tmp_path / "lake") as one, lakebed.connect(tmp_path / "lake") as other:
        main, elsewhere = one.catalog(), other.catalog()
        for name in ("a", "a.b", "c"):
            main.create_namespace(name)
        table = main.create_table("a.b.t", {"x": "int"})
        assert table.name == "a.b.t"
        elsewhere.rename_table("a.b.t", "c.u")
        elsewhere.drop_namespace("a", cascade=True)
        assert table.name == "c.u"
        elsewhere.rename_namespace("c", "d")
        assert table.name == "d.u"

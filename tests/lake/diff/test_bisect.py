"""Finding the first bad commit."""

import pytest

from lakebed import Catalog, Invalid, NotFound


@pytest.fixture
def prices(main: Catalog):
    main.create_namespace("s")
    table = main.create_table("s.prices", {"id": "long", "price": "double"})
    for number in range(12):
        table.append([{"id": number, "price": -1.0 if number == 7 else 1.0}], message=f"load {number}")
    return table


def negatives(catalog: Catalog) -> int:
    return catalog.table("s.prices").scan("price < 0").count()


def test_a_function_finds_the_first_bad_commit_in_few_steps(main, prices, unchanged):
    good = prices.history()[-2]
    with unchanged():
        found = main.bisect(good, main.version, lambda catalog: negatives(catalog) == 0)
    assert found.commit.message == "load 7"
    assert (found.version, negatives(main.at(found.good)), negatives(main.at(found.version))) == (
        found.commit.version,
        0,
        1,
    )
    assert len(found.tested) <= 6
    assert str(found).startswith("first bad commit: ")
    assert {one.version: one.is_good for one in found.tested}[found.version] is False
    assert "load 7" in found._repr_html_()


def test_sql_that_must_be_true_is_run_by_duckdb(main, prices):
    check = "select count(*) = 0 from s.prices where price < 0"
    assert main.bisect(-9, main.version, check).commit.message == "load 7"


def test_commits_from_before_the_fork_count(main, prices):
    dev = main.create_branch("dev")
    dev.table("s.prices").append([{"id": 99, "price": 1.0}])
    main.table("s.prices").truncate()
    found = dev.bisect(prices.history()[-2], dev.version, lambda catalog: negatives(catalog) == 0)
    assert found.commit.message == "load 7"


def test_every_first_bad_commit_is_found(main, prices):
    commits = main.log()[::-1]
    for place in range(1, len(commits)):
        bad = commits[place].version
        found = main.bisect(commits[0], commits[-1], lambda catalog, bad=bad: catalog.version < bad)
        assert found.commit == commits[place]


def test_mistakes_are_refused(main, prices):
    good, bad = prices.history()[-2].version, main.version
    is_good = lambda catalog: negatives(catalog) == 0  # noqa: E731
    for call, problem in (
        (lambda: main.bisect(bad, good, is_good), "before the bad one"),
        (lambda: main.bisect(good, good, is_good), "before the bad one"),
        (lambda: main.bisect(prices.history()[1], bad, is_good), "fails at the good version"),
        (lambda: main.bisect(good, good.next(), is_good), "holds at the bad version"),
        (lambda: main.bisect(good, bad, lambda catalog: catalog.table("s.prices").scan().count()), "True or False"),
        (lambda: main.bisect(good, bad, lambda catalog: None), "True or False"),
        (lambda: main.bisect(good, bad, "select count(*) from s.prices"), "True or False"),
        (lambda: main.bisect(good, bad, "select true, false"), "one truth value"),
        (lambda: main.bisect(good, bad, "select true from s.prices union all select true"), "one truth value"),
        (lambda: main.bisect(good, bad, "drop table s.prices"), "only reads"),
        (lambda: main.bisect(good, bad, 17), "not a check"),
        (lambda: main.bisect(good, bad.next(), is_good), "does not exist yet"),
    ):
        with pytest.raises(Invalid, match=problem):
            call()


def test_what_a_check_raises_comes_through_with_the_version(main, prices):
    first = main.log()[-1].version
    with pytest.raises(NotFound) as missing:
        main.bisect(first, main.version, lambda catalog: negatives(catalog) == 0)
    assert missing.value.__notes__ == [f"bisect was testing version {first}"]


def test_a_version_that_is_not_there_is_answered_with_those_that_are(lake, main):
    first = main.create_table("bisected", {"id": "long"}).version
    for outside in (main.version.next().next(), "1"):
        with pytest.raises((Invalid, NotFound)) as raised:
            main.bisect(first, outside, lambda _: True)
        assert str(raised.value.expected).endswith(f"to {lake._context.metastore.newest()}")
        assert str(raised.value.expected).startswith("version ")

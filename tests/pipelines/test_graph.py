"""Which step reads which is known before anything runs; what nobody can run is refused with what to do."""

from typing import Any

import pytest

from lakebed import pipelines as lp
from lakebed.errors import Invalid, NotFound
from lakebed.pipelines.files import load_pipeline


def chain() -> lp.Pipeline:
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table(tags=["core"])
    def orders(raw: Any = lp.read("raw.orders")) -> Any: ...

    @shop.view
    def italian(orders: Any) -> Any: ...

    @shop.table("marts.daily")
    def daily(italian: Any, items: Any = lp.read("raw.items")) -> Any: ...

    shop.sql("top", "select * from {daily} join {raw.items} using (item)")
    return shop


def test_steps_come_after_what_they_read() -> None:
    graph = chain().graph()
    assert graph.order == ("sales.orders", "italian", "marts.daily", "sales.top")
    assert dict(graph.tables("marts.daily")).keys() == {"raw.items", "sales.orders"}
    assert list(graph.makers("sales.top")) == ["marts.daily"]


def test_decorated_functions_stay_plain_functions() -> None:
    shop = lp.Pipeline("shop")

    @shop.table
    def doubled(number: Any = lp.read("numbers")) -> Any:
        return number * 2

    @shop.view
    def tripled(number: Any = lp.read("numbers")) -> Any:
        return number * 3

    assert (doubled(21), tripled(2), doubled.__name__) == (42, 6, "doubled")


@pytest.mark.parametrize(
    ("terms", "chosen"),
    [
        (None, ["sales.orders", "italian", "marts.daily", "sales.top"]),
        ("orders", ["sales.orders"]),
        ("+marts.daily", ["sales.orders", "italian", "marts.daily"]),
        ("daily+", ["marts.daily", "sales.top"]),
        ("tag:core", ["sales.orders"]),
        ("sales.*", ["sales.orders", "sales.top"]),
        ("orders top", ["sales.orders", "sales.top"]),
    ],
)
def test_a_selection_names_steps_as_dbt_does(terms: str | None, chosen: list[str]) -> None:
    assert chain().graph().select(terms) == chosen


def test_a_selection_that_names_no_step_says_which_there_are() -> None:
    with pytest.raises(Invalid, match=r"Did you mean sales\.orders or"):
        chain().graph().select("sales.order")


def test_a_parameter_that_nobody_fills_is_refused_with_the_nearest_name() -> None:
    shop = chain()

    @shop.table
    def wrong(ordres: Any) -> Any: ...

    with pytest.raises(Invalid, match="Did you mean orders"):
        shop.graph()


def test_steps_that_read_one_another_are_refused() -> None:
    shop = lp.Pipeline("shop")

    @shop.table
    def first(second: Any) -> Any: ...

    @shop.table
    def second(first: Any) -> Any: ...

    with pytest.raises(Invalid, match="in a circle"):
        shop.graph()


def test_a_step_may_read_its_own_published_rows() -> None:
    shop = lp.Pipeline("shop")

    @shop.table
    def total(before: Any = lp.read("total", at="published")) -> Any: ...

    assert shop.graph().order == ("total",)


def test_two_steps_for_one_table_are_refused() -> None:
    shop = chain()
    with pytest.raises(Invalid, match="two steps have one name"):
        shop.sql("sales.orders", "select 1")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"write": "upsrt"}, "can't be written like this"),
        ({"write": "scd2"}, "by which columns"),
        ({"evolve": "always"}, "can't evolve like this"),
        ({"primray_key": ["id"]}, "no such option"),
        ({"expect": ["price > 0"]}, "not an expectation"),
        ({"inputs": {"orders": "raw.orders"}}, "names parameters that the function does not have"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(Invalid, match=problem):

        @lp.Pipeline("shop").table("t", **options)
        def step(rows: Any = lp.read("raw.orders")) -> Any: ...


def test_inputs_of_functions_from_elsewhere_are_named_beside_them() -> None:
    def cleaned(rows: Any) -> Any: ...

    shop = lp.Pipeline("shop")
    shop.table("clean", inputs={"rows": "raw.orders"})(cleaned)
    assert list(shop.graph().tables("clean")) == ["raw.orders"]


def test_the_graph_is_drawn_as_text_and_as_a_picture() -> None:
    graph = chain().graph()
    assert '(["raw.items"])' in graph.mermaid()
    assert '[["italian"]]' in graph.mermaid()
    picture = graph._repr_svg_()
    assert picture.count("<rect") == 1 + 6, "the page, and the nodes"
    assert picture.count("<path") == 6


def test_a_file_that_makes_a_pipeline_is_loaded_by_its_name(tmp_path: Any) -> None:
    text = 'from lakebed import pipelines as lp\nfirst = lp.Pipeline("a")\nsecond = lp.Pipeline("b")\n'
    (tmp_path / "etl_of_two.py").write_text(text)
    (tmp_path / "etl_of_none.py").write_text("x = 1\n")
    assert load_pipeline(f"{tmp_path}/etl_of_two.py:second").name == "b"
    with pytest.raises(Invalid, match="several pipelines"):
        load_pipeline(tmp_path / "etl_of_two.py")
    with pytest.raises(Invalid, match="no pipeline"):
        load_pipeline(tmp_path / "etl_of_none.py")
    with pytest.raises(NotFound, match="no such file"):
        load_pipeline(tmp_path / "etl_missing.py")

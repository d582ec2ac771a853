"""Advice can be followed: every call and argument that an error's advice names exists."""

import pytest

from tests.support.advice import CALL, all_advice, mistakes


def test_every_call_that_advice_names_exists() -> None:
    advice = all_advice()
    assert sum(bool(CALL.search(one.text)) for one in advice) > 40, "advice names calls"
    wrong = {f"{one.place}: {one.text}": found for one in advice if (found := mistakes(one.text))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Use catalog.restore(…) or table.compact() in Python.", ["catalog.restore(…)"]),
        ("Use table.set_commentary(…).", ["table.set_commentary(…)"]),
        ("Pass compacted=True.", ["compacted="]),
        ("Call upsert(data, by=…).", ["upsert(by=…)"]),
        ("Call upsert(data, on=…), or pass spark=.", []),
        ("Use lakebed.literal(3).", ["lakebed.literal(…)"]),
    ],
)
def test_a_call_that_does_not_exist_is_found(text: str, found: list[str]) -> None:
    assert mistakes(text) == found

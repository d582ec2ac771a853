"""The rules of what a caller may say of a snapshot."""

import pytest

from lakebed import Invalid, TooLarge
from lakebed.table.manifest.summary import SUMMARY_BYTES, free_properties, given_summary, joined, newest

REFUSED = {
    "a key of Iceberg": {"operation": "append"},
    "a figure": {"added-records": "1"},
    "a figure in capitals": {"Total-Records": "1"},
    "a key with a meaning to Iceberg": {"wap.id": "1"},
    "a partition": {"partitions.day=1": "1"},
    "a number": {"batch": 17},
    "a null": {"batch": None},
    "a key that is a number": {17: "batch"},
    "an empty key": {"": "17"},
    "a long key": {"k" * 256: "17"},
    "half of a character": {"batch": "\ud800"},
    "a text": "batch=17",
    "pairs": [("batch", "17")],
}


@pytest.mark.parametrize("summary", REFUSED.values(), ids=REFUSED)
def test_what_is_not_texts_by_free_keys_is_refused(summary):
    with pytest.raises(Invalid, match="summary"):
        given_summary(summary)


def test_free_keys_are_taken_as_they_are():
    texts = {"batch": "17", "Ärger mit ö": "", "operation-mode": "x", "k" * 255: "\x00"}
    assert given_summary(texts) == texts
    assert given_summary(None) == given_summary({}) == {}
    assert free_properties({"total-files": "1", **texts}) == texts


def test_a_summary_has_so_many_bytes_and_not_one_more():
    assert given_summary({"k": "ö" * (SUMMARY_BYTES // 2 - 1)})
    with pytest.raises(TooLarge, match="too large"):
        given_summary({"kk": "ö" * (SUMMARY_BYTES // 2)})
    with pytest.raises(TooLarge):
        joined({"a": "x" * 5000}, {"b": "x" * 5000})


def test_of_two_values_of_a_key_the_later_is_kept():
    assert joined({"a": "1", "b": "1"}, {"b": "2"}) == {"a": "1", "b": "2"}
    assert newest([{"a": "1", "b": "1"}, {"b": "2"}]) == {"a": "1", "b": "2"}
    assert newest([{"a": "x" * 5000}, {"b": "y" * 5000}]) == {"b": "y" * 5000}

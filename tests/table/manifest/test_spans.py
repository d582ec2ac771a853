"""MO-18: the algebra of spans."""

import pytest

from lakebed.errors import Corrupt
from lakebed.table.manifest.snapshot import Span


def test_overlapping_spans_are_joined():
    assert Span(0, 100) + Span(90, 110) == Span(0, 110)


def test_a_span_that_is_there_already_changes_nothing():
    assert Span(0, 100) + Span(85, 95) == Span(0, 100)
    assert Span(0, 100) + Span(0, 100) == Span(0, 100)


def test_a_gap_is_an_error():
    with pytest.raises(Corrupt, match="missing"):
        Span(0, 100) + Span(110, 120)


def test_what_is_older_than_the_state_is_an_error():
    with pytest.raises(Corrupt, match="older"):
        Span(50, 100) + Span(10, 120)


def test_a_span_that_ends_before_it_begins_is_an_error():
    with pytest.raises(Corrupt):
        Span(2, 1)

"""Event ids and fingerprints: what is stored for ever has to come out the same for ever."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.catalog.transaction.commits import Request, check_event_id, event_id
from lakebed.errors import Invalid


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (("load",), "6f6e13c8-2c51-551c-a81e-e28ec3fb5910"),
        (("load", "2026-11-01"), "dcdb0120-ca1d-5cb3-a609-54c69a882ade"),
        (("load", 17), "036b083d-e916-5b6c-8036-2e9465b25489"),
        (("größe", "\U0001f30a"), "59dc945a-db70-53db-9ae2-030a0699bac7"),
    ],
)
def test_an_event_id_is_the_same_everywhere_and_always(parts, found):
    assert event_id(*parts) == found


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4), st.lists(st.text(max_size=5), min_size=1, max_size=4))
def test_other_parts_give_another_event_id(one, other):
    assert (event_id(*one) == event_id(*other)) == (one == other)
    assert check_event_id(event_id(*one)) == event_id(*one)


def test_an_event_id_is_made_of_something():
    with pytest.raises(Invalid):
        event_id()


def test_an_event_id_is_kept_as_small_letters():
    event = uuid4()
    written = [event, str(event), str(event).upper(), event.hex, f"{{{event}}}", f"urn:uuid:{event}"]
    assert {check_event_id(one) for one in written} == {str(event)}


@pytest.mark.parametrize("bad", ["", "17", None, 17, b"0" * 16, "g" * 32])
def test_what_is_no_event_id_is_refused(bad):
    with pytest.raises(Invalid, match="not an event id"):
        check_event_id(bad)


def test_a_fingerprint_never_changes():
    """Stored with every commit: another rule would refuse retries across an upgrade."""
    assert Request("append", ("table",)).fingerprint.hex() == "ad0a1bf1dad15e063f2290fd56f8ce93"
    assert (
        Request("create_namespace", (("a", "ß"), {"b": "2", "a": "1"})).fingerprint.hex()
        == "f34789549279c73bd8188dfe9fbf3197"
    )


def test_a_fingerprint_is_of_the_operation_and_its_arguments_alone():
    plain = Request("set_properties", ({"a": "1", "b": "2"},))
    same = Request("set_properties", ({"b": "2", "a": "1"},), "message", "author", UUID(int=1))
    others = [
        Request("unset_properties", ({"a": "1", "b": "2"},)),
        Request("set_properties", ({"a": "1"},)),
        Request("set_properties", ("a", "1")),
        Request("set_properties", (["a", "1"],)),
        Request("set_properties", ()),
    ]
    assert plain.fingerprint == same.fingerprint
    assert len({one.fingerprint for one in (plain, *others)}) == len(others) + 1


@pytest.mark.parametrize("told", [{"message": 1}, {"author": 1}, {"message": b"x"}])
def test_a_message_and_an_author_are_texts(told):
    with pytest.raises(Invalid, match="is text"):
        Request("append", (), **told)

"""ME-19: files above level 0 that would have keys in common are found, all of them and no others."""

from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.keys.levels import (
    ALL_KEYS,
    KeySpan,
    Placed,
    clashes,
    clusters,
    knows_keys,
    lowered,
    placed,
)
from lakebed.table.manifest.delta import COLUMNAR, DUAL, file_format
from lakebed.table.manifest.manifest_pb2 import DataFileRef

KEYS = st.binary(max_size=2)
SPANS = st.tuples(KEYS, KEYS).map(lambda drawn: KeySpan(min(drawn), max(drawn))) | st.just(ALL_KEYS)
FILES = st.lists(
    st.builds(
        Placed, st.builds(DataFileRef, path=st.uuids().map(str)), st.sampled_from("pq"), SPANS, st.integers(0, 2)
    ),
    max_size=8,
)


def meet(one, other):
    """By its definition: some key is in both."""
    if (one.partition, one.level) != (other.partition, other.level) or one.level == 0:
        return False
    low = max(one.span.low, other.span.low)
    return all(high is None or low <= high for high in (one.span.high, other.span.high))


@given(FILES, FILES)
def test_without_the_files_that_clash_no_two_have_keys_in_common(added, kept):
    found = list(clashes(added, kept))
    assert all(meet(one, other) for one, other in found)
    lost = {one.file.path for one, _ in found}
    left = [one for one in added if one.file.path not in lost]
    assert not any(meet(one, other) for one in left for other in kept)
    assert not any(meet(one, other) for place, one in enumerate(left) for other in left[:place])
    assert {other.file.path for _, other in found}.isdisjoint(lost)


@given(FILES)
def test_clusters_have_every_file_once_and_no_key_in_common(files):
    found = list(clusters(files))
    assert sorted(one.file.path for cluster in found for one in cluster) == sorted(one.file.path for one in files)
    for place, cluster in enumerate(found):
        for other in found[:place]:
            assert not any(one.span.overlaps(two.span) for one in cluster for two in other)


def test_bounds_of_another_primary_key_say_nothing():
    file = DataFileRef(path="f", level=1, key_min=b"a", key_max=b"b", key_schema_id=3)
    assert placed(file, "p", lambda id: id == 3) == Placed(file, "p", KeySpan(b"a", b"b"), 1)
    assert placed(file, "p", lambda id: id == 4) == Placed(file, "p", ALL_KEYS, 0)
    file.ClearField("key_schema_id")
    assert not knows_keys(file, lambda _: True)


def test_a_lowered_file_keeps_its_format():
    older = DataFileRef(path="f", level=2)
    assert (lowered(older).level, file_format(lowered(older)), older.level) == (0, COLUMNAR, 2)
    assert file_format(lowered(DataFileRef(path="f", level=1, format=DUAL))) == DUAL

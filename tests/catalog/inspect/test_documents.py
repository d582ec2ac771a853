"""The JSON documents of source document 001: examples, unknown keys, damage."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.catalog.inspect import documents
from lakebed.catalog.inspect.documents import Array, Form, Keys, MapOf, OrNull
from lakebed.errors import Corrupt, Invalid

# As the source document has them.
EXAMPLES = {
    "METADATA": """
    {
      "format-version": 2,
      "table-uuid": "12345678-90ab-cdef-1234-567890abcdef",
      "location": "s3://example-bucket/iceberg/table/",
      "last-sequence-number": 3,
      "last-updated-ms": 1672345600000,
      "current-snapshot-id": 9876543210,
      "snapshots": [
        {
          "snapshot-id": 9876543210,
          "timestamp-ms": 1672345600000,
          "summary": {
            "operation": "append",
            "added-data-files": 3,
            "added-records": 1500,
            "changed-partition-count": 2
          },
          "manifest-list": "s3://example-bucket/iceberg/table/metadata/snap-9876543210.avro"
        }
      ],
      "partition-specs": [
        {
          "spec-id": 1,
          "fields": [
            {"source-id": 2, "field-id": 1000, "name": "region", "transform": "identity"},
            {"source-id": 3, "field-id": 1001, "name": "date", "transform": "day"}
          ]
        }
      ],
      "schema": {
        "type": "struct",
        "fields": [
          {"name": "id", "type": "long", "nullable": false},
          {"name": "name", "type": "string", "nullable": false},
          {"name": "region", "type": "string", "nullable": false},
          {"name": "date", "type": "timestamp", "nullable": false}
        ]
      }
    }
    """,
    "SNAPSHOT": """
    {
      "snapshot-id": 9876543210,
      "timestamp-ms": 1672345600000,
      "operation": "append",
      "manifest-list": "s3://example-bucket/iceberg/table/metadata/manifest-list.avro"
    }
    """,
    "MANIFEST_LIST": """
    [
      {
        "manifest-path": "s3://example-bucket/iceberg/table/metadata/manifest1.avro",
        "manifest-length": 1024,
        "partition-summaries": [
          {
            "contains-null": false,
            "lower-bound": {"region": "us-east", "date": "2023-01-01"},
            "upper-bound": {"region": "us-east", "date": "2023-01-31"}
          }
        ]
      }
    ]
    """,
    "MANIFEST": """
    {
      "added-data-files": [
        {
          "file-path": "s3://example-bucket/iceberg/table/data/file1.parquet",
          "file-format": "PARQUET",
          "partition-values": {"region": "us-east", "date": "2023-01-01"},
          "record-count": 500,
          "file-size-in-bytes": 1048576
        }
      ],
      "existing-data-files": [],
      "deleted-data-files": []
    }
    """,
    "PROPERTIES": '{"key1": "value1", "key2": "value2"}',
    "PARTITION_VALUES": '{"year": "2024", "month": "03", "region": "us-west"}',
    "PARTITION_SPECS": """
    [
      {
        "spec_id": 1,
        "fields": [
          {"source_id": 1, "field_id": 1000, "name": "year", "transform": "identity"},
          {"source_id": 2, "field_id": 1001, "name": "month", "transform": "month", "transform_param": 1}
        ]
      }
    ]
    """,
    "SUMMARY": '{"added-files": "10", "total-records": "1000"}',
    "SNAPSHOTS": """
    [
      {
        "snapshot_id": 1,
        "timestamp_ms": 1648176000000,
        "operation": "append",
        "manifest_list": "metadata/manifests/snap-1.avro",
        "summary": {"added-files": "10", "total-records": "1000"}
      }
    ]
    """,
    "DATA_FILES": """
    [
      {
        "file_path": "data/part-00000.parquet",
        "format": "parquet",
        "record_count": 1000,
        "file_size_bytes": 1048576,
        "partition_values": {"year": "2024", "month": "03"}
      }
    ]
    """,
}
FORMS = {name: getattr(documents, name) for name in EXAMPLES}
every_form = pytest.mark.parametrize("name", EXAMPLES)


def test_every_form_has_an_example():
    assert {name for name, one in vars(documents).items() if isinstance(one, Form)} == set(FORMS)


@every_form
def test_the_source_documents_example_is_read_and_written_again(name):
    """KV-17."""
    body = FORMS[name].from_json(EXAMPLES[name].encode())
    assert body == json.loads(EXAMPLES[name])
    assert FORMS[name].from_json(FORMS[name].to_json(body)) == body


def parts(body, path=()):
    """Every object and array in a document, with the way to it."""
    if isinstance(body, dict | list):
        yield path, body
        for key, value in body.items() if isinstance(body, dict) else enumerate(body):
            yield from parts(value, (*path, key))


def at(body, path):
    for key in path:
        body = body[key]
    return body


def shape_at(shape, path):
    while isinstance(shape, OrNull):
        shape = shape.of
    if not path:
        return shape
    match shape:
        case Array(of) | MapOf(of):
            return shape_at(of, path[1:])
        case Keys(required, optional):
            return shape_at({**required, **optional}[path[0]], path[1:])


def objects_of(name):
    body, form = json.loads(EXAMPLES[name]), FORMS[name]
    return [
        path for path, part in parts(body) if isinstance(part, dict) and isinstance(shape_at(form.shape, path), Keys)
    ]


@every_form
def test_unknown_keys_are_kept_wherever_they_are(name):
    """KV-17."""
    for path in objects_of(name):
        body = json.loads(EXAMPLES[name])
        at(body, path)["from-the-future"] = {"é": [1, None, 2.5, {"deep": True}], "last": -(2**63)}
        read = FORMS[name].from_json(json.dumps(body))
        assert read == body
        assert json.loads(FORMS[name].to_json(read)) == body


@every_form
def test_a_required_key_that_lacks_is_named(name):
    """KV-17."""
    for path in objects_of(name):
        shape = shape_at(FORMS[name].shape, path)
        for key in shape.required:
            body = json.loads(EXAMPLES[name])
            del at(body, path)[key]
            with pytest.raises(Corrupt) as caught:
                FORMS[name].from_json(json.dumps(body))
            assert caught.value.subject == FORMS[name].name
            assert str(caught.value.expected).split(" as ")[0].endswith(key)
            assert caught.value.found == "nothing"
            with pytest.raises(Invalid):
                FORMS[name].to_json(body)


@every_form
def test_another_container_is_named(name):
    """KV-17."""
    for path, part in parts(json.loads(EXAMPLES[name])):
        body = json.loads(EXAMPLES[name])
        other = [] if isinstance(part, dict) else {}
        if path:
            at(body, path[:-1])[path[-1]] = other
        else:
            body = other
        with pytest.raises(Corrupt) as caught:
            FORMS[name].from_json(json.dumps(body))
        assert caught.value.subject == FORMS[name].name
        assert ("an array" if isinstance(part, list) else "an object") in str(caught.value.expected)


@every_form
def test_a_document_that_is_cut_is_found_wherever_it_is_cut(name):
    """KV-17."""
    data = FORMS[name].to_json(json.loads(EXAMPLES[name]))
    for length in range(len(data)):
        with pytest.raises(Corrupt) as caught:
            FORMS[name].from_json(data[:length])
        assert caught.value.subject == FORMS[name].name


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b'{"a": "b"} {}',
        b'{"a": "b", "a": "c"}',
        b"{'a': 'b'}",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
    ],
)
def test_what_is_no_json_is_corrupt(data):
    with pytest.raises(Corrupt, match="properties"):
        documents.PROPERTIES.from_json(data)


@pytest.mark.parametrize("number", [-(2**63) - 1, 2**63, 1.5, 1.0, True, None, "1"])
def test_a_number_that_is_none_of_64_bits_is_refused(number):
    body = {**json.loads(EXAMPLES["SNAPSHOT"]), "snapshot-id": number}
    with pytest.raises(Corrupt, match="snapshot-id as a whole number of 64 bits"):
        documents.SNAPSHOT.from_json(json.dumps(body))


@pytest.mark.parametrize(
    "body", [{"a": {1, 2}}, {"a": float("nan")}, {"a": "\ud800"}, {"a": 2.0}, {1: "a"}, None], ids=repr
)
def test_what_can_not_be_read_again_is_not_written(body):
    with pytest.raises(Invalid, match="properties"):
        documents.PROPERTIES.to_json(body)


texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers(-(2**63), 2**63 - 1)
anything = st.recursive(
    st.none() | st.booleans() | numbers | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def values_of(shape):
    match shape:
        case OrNull(of):
            return st.none() | values_of(of)
        case Array(of):
            return st.lists(values_of(of), max_size=2)
        case MapOf(of):
            return st.dictionaries(texts, values_of(of), max_size=3)
        case Keys(required, optional):
            known = st.fixed_dictionaries(
                {key: values_of(of) for key, of in required.items()},
                optional={key: values_of(of) for key, of in optional.items()},
            )
            others = st.dictionaries(
                texts.filter(lambda key: key not in {**required, **optional}), anything, max_size=2
            )
            return st.builds(lambda one, other: {**one, **other}, known, others)
    return {str: texts, int: numbers, bool: st.booleans(), object: anything}[shape]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_what_is_written_is_what_is_read(data):
    """KV-17: the extremes of int64, text of any script, unknown keys."""
    form = data.draw(st.sampled_from(list(FORMS.values())))
    body = data.draw(values_of(form.shape))
    before = copy.deepcopy(body)
    written = form.to_json(body)
    assert form.from_json(written) == before
    assert form.to_json(form.from_json(written)) == written

"""Avro as Iceberg writes it, with PyIceberg's own rules as a second opinion."""

from decimal import Decimal as Number
from io import BytesIO

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import make_compatible_name
from pyiceberg.utils.decimal import decimal_required_bytes

from lakebed.iceberg.avro import encode, field_name, optional, record, type_of, value_of
from lakebed.table.types.types import STRING, Decimal


@pytest.mark.parametrize("precision", range(1, 39))
def test_a_decimal_takes_as_many_bytes_as_iceberg_gives_it(precision: int) -> None:
    assert type_of(Decimal(precision, 0), "t")["size"] == decimal_required_bytes(precision)


@given(st.data())
def test_decimals_are_read_as_they_were_written(data: st.DataObject) -> None:
    precision = data.draw(st.integers(1, 38))
    scale = data.draw(st.integers(0, precision))
    digits = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    type, value = Decimal(precision, scale), Number(f"{digits}e-{scale}")
    made = encode(record("r", [optional(1, "d", type_of(type, "t"))]), [{"d": value_of(type, value)}], {})
    assert list(fastavro.reader(BytesIO(made))) == [{"d": value}]


@given(st.text(st.characters(codec="ascii"), min_size=1))
def test_names_are_made_fit_for_avro_as_iceberg_does(name: str) -> None:
    assert field_name(name) == make_compatible_name(name)


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_name_can_be_written(name: str) -> None:
    schema = record("r", [optional(1, field_name(name), type_of(STRING, "t"))])
    made = encode(schema, [{field_name(name): name}], {"text": "as it is", "number": {"json": 1}})
    reader = fastavro.reader(BytesIO(made))
    assert list(reader) == [{field_name(name): name}]
    assert reader.metadata["text"] == "as it is"
    assert reader.metadata["number"] == '{"json": 1}'
    assert reader.writer_schema["fields"][0]["field-id"] == 1

"""The statements that create a table or view as it is."""

import re

from lakebed.catalog.transaction.names import parse_name
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.spark.literals import literal_sql
from lakebed.spark.sql.tokens import quoted
from lakebed.spark.types import spark_schema
from lakebed.table.schema.defaults import default_to_json
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Field,
    List,
    Map,
    Struct,
    Type,
)

CHECK = "check."
COMMENT = "comment"
_TYPED: dict[Type, str] = {DATE: "DATE", TIMESTAMP: "TIMESTAMP_NTZ", TIMESTAMPTZ: "TIMESTAMP"}
"""The types whose literals are a word and a text."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = {"primary", "constraint", "check", "default", "comment", "not", "null", "first", "after", "generated"}
"""Plain words that would not be read as a column's name, or behind one."""


def create_table_text(table: Table) -> str:
    """CREATE TABLE with all that the table is, without rows, and ALTER TABLE for its sort order."""
    properties = table.properties
    checks = {key: value for key, value in properties.items() if _is_check(key)}
    declared = [_column(field) for field in table.schema.fields]
    if table.primary_key:
        declared.append(f"PRIMARY KEY ({', '.join(_path(name) for name in table.primary_key)})")
    declared += [f"CONSTRAINT {key.removeprefix(CHECK)} CHECK ({value})" for key, value in checks.items()]
    name = _name(table)
    lines = [f"CREATE TABLE {name} (", ",\n".join(f"  {line}" for line in declared) + ")", "USING lakebed"]
    if len(table.spec):
        lines.append(f"PARTITIONED BY ({table.spec})")
    lines += _description({key: value for key, value in properties.items() if key not in checks})
    order = f";\nALTER TABLE {name} WRITE ORDERED BY {table.sort_order}" if len(table.sort_order) else ""
    return "\n".join(lines) + order


def create_view_text(view: View) -> str:
    """CREATE VIEW with the view's query."""
    return "\n".join([f"CREATE VIEW {_name(view)}", *_description(view.properties), f"AS {view.sql_for()}"])


def _description(properties: dict[str, str]) -> list[str]:
    """The clauses for a comment and for other properties."""
    lines = [f"COMMENT {_text(properties[COMMENT])}"] if COMMENT in properties else []
    others = [f"  {_text(key)} = {_text(value)}" for key, value in sorted(properties.items()) if key != COMMENT]
    return [*lines, "TBLPROPERTIES (\n" + ",\n".join(others) + ")"] if others else lines


def _name(handle: Table | View) -> str:
    parts = parse_name(handle.name)
    return ".".join(_word(part) for part in parts) + ("@main" if len(parts) == 1 else "")


def _column(field: Field) -> str:
    words = [_word(field.name), _type(field.type)]
    if field.required:
        words.append("NOT NULL")
    if field.write_default is not None:
        words.append(f"DEFAULT {_default(field.type, field.write_default)}")
    if field.comment:
        words.append(f"COMMENT {_text(field.comment)}")
    return " ".join(words)


def _type(type: Type) -> str:
    match type:
        case Struct(fields):
            return f"STRUCT<{', '.join(_part(field) for field in fields)}>"
        case List():
            return f"ARRAY<{_type(type.element)}>"
        case Map():
            return f"MAP<{_type(type.key)}, {_type(type.value)}>"
        case _:
            return spark_schema(Schema([Field("x", type)])).fields[0].dataType.simpleString().upper()


def _part(field: Field) -> str:
    required = " NOT NULL" if field.required else ""
    comment = f" COMMENT {_text(field.comment)}" if field.comment else ""
    return f"{_word(field.name)}: {_type(field.type)}{required}{comment}"


def _default(type: Type, value: object) -> str:
    if type in (BOOLEAN, INT, LONG, DOUBLE) or isinstance(type, Decimal):
        return str(value)
    if type in _TYPED:
        return f"{_TYPED[type]} '{default_to_json(type, value)}'"
    return _text(str(value)) if type == STRING else literal_sql(type, value)


def _is_check(key: str) -> bool:
    return key.startswith(CHECK) and bool(_PLAIN.fullmatch(key.removeprefix(CHECK)))


def _path(name: str) -> str:
    return ".".join(_word(part) for part in name.split("."))


def _word(name: str) -> str:
    is_plain = bool(_PLAIN.fullmatch(name)) and name.lower() not in _KEYWORDS
    return name if is_plain else quoted(name)


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

"""`${…}` in what Spark is given: it stands for itself.

Spark replaces variables in SQL by settings, Java's properties and the environment, and unknown ones by nothing. Hadoop
does the same with the schemas of the files that Spark reads and writes. Neither can be turned off for one call, so
Lakebed gives them texts in which nothing is left to replace.
"""

from dataclasses import replace
from string import ascii_letters
from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema, physical_names
from lakebed.table.types.names import physical_name
from lakebed.table.types.types import Fields, children_of, walk, with_children

SUBSTITUTE: Final = "spark.sql.variable.substitute"
CASE_SENSITIVE: Final = "spark.sql.caseSensitive"
DOLLAR: Final = "lakebed.dollar"
"""A setting of the session whose value is `$`: what Spark puts in its place is not replaced once more."""

_BEGIN = "${"
_OTHER_CASE = str.maketrans(ascii_letters, ascii_letters.swapcase())


def written_expression(spark: SparkSession, text: str) -> Column:
    """A text in SQL as a column, as it is written."""
    return F.expr(verbatim(spark, text))


def verbatim(spark: SparkSession, text: str) -> str:
    """SQL for Spark's parser, which then reads it as it was written."""
    return text.replace(_BEGIN, f"${{{DOLLAR}}}{{") if _is_replaced(spark, text) else text


def verbatim_template(spark: SparkSession, text: str) -> str:
    """The same for a text that PySpark formats, where a brace is doubled."""
    if not _is_replaced(spark, text):
        return text
    return text.replace(f"{_BEGIN}{{", f"${{{{{DOLLAR}}}}}{{{{")


def scannable_fields(spark: SparkSession, fields: Fields) -> Fields:
    """The fields under names by which Hadoop lets Spark find them in files.

    Letters of the other case hide a variable, since those have case and Spark's columns don't. Files that Lakebed
    writes have plain names; these are of files that others wrote, or Lakebed 0.1.
    """
    found = next((way[-1] for way in walk(fields) if _BEGIN in way[-1].physical_name), None)
    if found is None:
        return fields
    if str(spark.conf.get(CASE_SENSITIVE)).lower() == "true":
        raise Invalid(
            "Hadoop would replace a part of this column's name in the files, and Spark not find it",
            subject=found.physical_name,
            expected=f"{CASE_SENSITIVE} false",
            found="true",
            advice=f'Run `spark.conf.set("{CASE_SENSITIVE}", "false")`, or read it by `scan(…)`.',
        )
    return _with_other_case(fields)


def writable_names(schema: Schema) -> dict[int, str]:
    """(field id) -> another name in files, for fields that Hadoop would write under a name of its own."""
    used = physical_names(schema)
    risky = [way[-1] for way in walk(schema.fields) if _BEGIN in way[-1].physical_name]
    return {field.id: physical_name(field.physical_name, field.id, used) for field in risky}


def _is_replaced(spark: SparkSession, text: str) -> bool:
    if _BEGIN not in text or str(spark.conf.get(SUBSTITUTE)).lower() != "true":
        return False
    spark.conf.set(DOLLAR, "$")
    return True


def _with_other_case(fields: Fields) -> Fields:
    return tuple(
        replace(
            field,
            physical_name=_hidden(field.physical_name),
            type=with_children(field.type, _with_other_case(children_of(field.type))),
        )
        for field in fields
    )


def _hidden(name: str) -> str:
    return name.translate(_OTHER_CASE) if _BEGIN in name else name

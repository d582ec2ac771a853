"""Names of columns that somebody on the way to a file could read something into."""

VARIABLES = (
    "${user.name}",
    "${env:HOME}",
    "${env.HOME}",
    "${java.version}",
    "${spark.app.name}",
    "${nope}",
    "${nope-x}",
)
SIGNS = (
    "$x",
    "$",
    "${",
    "}",
    "{}",
    "{0}",
    "{t0}",
    "()",
    "[0]",
    "<x>",
    "#",
    ",",
    ";",
    "=",
    "*",
    "-",
    ":p",
    "?",
    "@v",
    "a@b",
)
QUOTES = (
    "a.b",
    "a b",
    "a`b",
    "``",
    "'",
    "it's",
    '"',
    'say "x"',
    "--x",
    "/*x*/",
    "\\",
    "\\u0041",
    "/",
    "%",
    "%41",
    "a=1",
)
LETTERS = ("💧", "שלום", "\u200f", "e\u0301x", "ß", "İ", "ſ", "列", "x" * 255, " lead", "trail ", " ", "1")
WORDS = ("_metadata", "input_file_name()", "__HIVE_DEFAULT_PARTITION__", "select", "from", "true", "null", "default")
OURS = ("lakebed_1000", "element", "key", "row", "file", "target", "source", "c0", "n", "user_name_2")

NASTY_NAMES = (*VARIABLES, *SIGNS, *QUOTES, *LETTERS, *WORDS, *OURS)

REFUSED_NAMES = ("", "a\nb", "a\tb", "a\0b", "\ud800", "x" * 256, "é" * 128)
RESERVED_NAMES = ("_row_id", "_File", "_pos", "_last_updated_sequence_number", "lakebed.x", "_tmp_metadata_row_index")
"""Refused as columns of a table; fields of structs may have them."""


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return f"`{name.replace('`', '``')}`"

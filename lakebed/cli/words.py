"""The words of the command line: each with its module and one line of help, so that `--help` imports none of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A word: the module that has it, and what it does. The function there has the word's name."""

    module: str
    help: str


SECTIONS: dict[str, dict[str, Entry]] = {
    "Begin": {
        "init": Entry("start", "Create a lake in a folder."),
        "status": Entry("start", "The lake, the branch, its version, and what needs a look."),
        "doctor": Entry("doctor", "Look at Python, Java, Spark, the disk and the locks."),
        "version": Entry("start", "The version of Lakebed."),
        "completion": Entry("start", "Print what makes a shell complete words and options."),
    },
    "Look": {
        "ls": Entry("look", "List namespaces, tables and views."),
        "show": Entry("log", "Show one commit, and what it changed."),
        "describe": Entry("look", "Describe a table, a view, a namespace or the catalog."),
        "head": Entry("rows", "Show the first rows of a table."),
        "count": Entry("rows", "Count the rows of a table."),
        "schema": Entry("look", "List the columns of a table."),
    },
    "Branches, tags and shares": {
        "branch": Entry("refs", "List, create, rename and drop branches."),
        "switch": Entry("refs", "Work on another branch from now on."),
        "tag": Entry("refs", "List, create, rename and drop tags."),
        "share": Entry("shares", "List, create, change and drop shares."),
    },
    "History and merging": {
        "log": Entry("log", "List the commits of a line, or of one table."),
        "diff": Entry("diff", "Show what differs between two branches, tags or versions."),
        "merge": Entry("merges", "Merge another branch into this one."),
        "conflicts": Entry("conflicts", "List, decide and finish a merge that has conflicts."),
        "cherry-pick": Entry("merges", "Do here what a commit did elsewhere."),
        "revert": Entry("merges", "Undo one commit by a new one."),
        "reset": Entry("merges", "Make the branch what it was at a version."),
        "restore": Entry("merges", "Make a table what it was at a version."),
    },
    "Changes of rows": {
        "changes": Entry("feed", "Show rows that were inserted, updated and deleted."),
        "blame": Entry("feed", "Show which commits wrote a row."),
        "bisect": Entry("feed", "Find the first commit after which a check fails."),
        "edition": Entry("levels", "List, create, activate and drop editions of a table."),
        "stream": Entry("levels", "Stage rows beside a table's, and replace all of them at once."),
        "partition": Entry("levels", "List, create, drop and undrop partitions of a table."),
    },
    "Objects": {
        "create": Entry("objects", "Create a table, a namespace, a view or a catalog."),
        "drop": Entry("objects", "Drop a table, a view, a namespace or a catalog; it can be undropped."),
        "undrop": Entry("dropped", "Bring back what was dropped."),
        "dropped": Entry("dropped", "List what can be undropped."),
        "rename": Entry("objects", "Give a table, a view, a namespace or a catalog another name."),
        "purge": Entry("dropped", "Erase something dropped, for good."),
        "set": Entry("settings", "Show, set and unset properties."),
        "evolve": Entry("evolve", "Change columns, partitioning, sort order and key."),
    },
    "Data": {
        "load": Entry("load", "Load CSV, JSON lines or Parquet into a table."),
        "import": Entry("imports", "Bring files, tables of other formats, or a database's rows; again, only the new."),
        "export": Entry("export", "Write a table's rows to a file."),
        "query": Entry("query", "Run a query by DuckDB."),
        "sql": Entry("sql", "Run a statement by Spark."),
    },
    "Pipelines": {
        "plan": Entry("pipeline", "Show what a run of a pipeline would do, and why."),
        "run": Entry("pipeline", "Run a pipeline on a branch, check it, publish it as one commit."),
        "runs": Entry("runs", "List, show, resume, publish and discard runs of pipelines."),
        "lineage": Entry("runs", "Show what a table or a column was made from."),
        "graph": Entry("pipeline", "Show which step of a pipeline reads which."),
        "quarantine": Entry("pipeline", "Show the rows that a step has put aside."),
    },
    "Inside": {
        "files": Entry("inside", "List the live files of a table."),
        "explain": Entry("inside", "Show how a scan chooses its files."),
        "history": Entry("log", "List the commits that changed a table."),
        "inspect": Entry("inside", "Show a system table, a manifest or entries of files."),
        "usage": Entry("inside", "Show what the lake's files take."),
    },
    "Upkeep": {
        "compact": Entry("upkeep", "Rewrite badly laid-out files of a table."),
        "checkpoint": Entry("upkeep", "Write a checkpoint of a table."),
        "check": Entry("upkeep", "Look for damage in records and files."),
        "backup": Entry("upkeep", "Copy the lake into a folder."),
    },
}

WORDS: dict[str, Entry] = {word: entry for section in SECTIONS.values() for word, entry in section.items()}

ELSEWHERE: dict[str, str] = {
    "add": "load",
    "alter": "evolve",
    "cat": "head",
    "checkout": "switch",
    "columns": "schema",
    "config": "set",
    "desc": "describe",
    "dump": "export",
    "finish": "conflicts",
    "fsck": "check",
    "get": "head",
    "info": "status",
    "insert": "load",
    "list": "ls",
    "mv": "rename",
    "optimize": "compact",
    "properties": "set",
    "rebase": "merge",
    "remove": "drop",
    "repair": "check",
    "resolve": "conflicts",
    "rm": "drop",
    "select": "query",
    "snapshot": "tag",
    "stash": "branch",
    "tables": "ls",
    "undelete": "undrop",
    "undo": "revert",
    "unset": "set",
    "upsert": "load",
    "use": "switch",
    "verify": "check",
}
"""Words of git, dolt and SQL, and ours for them: by their letters, `undo` would be taken for `undrop`."""

_ROWS = "`lakebed sql` changes rows, and `lakebed load` brings them."
_NO_REMOTES = "A lake has no remotes: `lakebed backup FOLDER` copies it."
_NOT_YET = "It is not there yet."
_NOTHING_EXPIRES = "Nothing expires yet: only `lakebed purge` deletes."

SENTENCES: dict[str, str] = {
    "clone": _NO_REMOTES,
    "commit": "Every word that changes something makes a commit: `lakebed log` lists them.",
    "delete": _ROWS,
    "expire": _NOTHING_EXPIRES,
    "fetch": _NO_REMOTES,
    "gc": _NOTHING_EXPIRES,
    "pull": _NO_REMOTES,
    "push": _NO_REMOTES,
    "serve": _NOT_YET,
    "truncate": _ROWS,
    "ui": _NOT_YET,
    "update": _ROWS,
    "vacuum": _NOTHING_EXPIRES,
}
"""What is answered to words that have no counterpart."""


def function_name(word: str) -> str:
    """The name of a word's function: Python's own words get an underscore."""
    return f"{word.replace('-', '_')}_word"

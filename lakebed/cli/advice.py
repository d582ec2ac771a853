"""The API's advice in the words of the command line: calls become words, arguments become options."""

import re

_WORDS: tuple[tuple[str, str], ...] = (
    (r"tables\(…\), views\(…\) and namespaces\(…\) list what is there", "`lakebed ls -r` lists what is there"),
    (r"(?:tables|views|namespaces)\(…\) lists what is there", "`lakebed ls -r` lists what is there"),
    (r"Catalog\.tables\(recursive=True\) lists the tables", "`lakebed ls -r` lists the tables"),
    (r"branches\(…\) lists what is there", "`lakebed branch` lists the branches, `lakebed tag` the tags"),
    (r"tags\(…\) lists what is there", "`lakebed tag` lists what is there"),
    (r"shares\(…\) lists what is there", "`lakebed share` lists what is there"),
    (r"editions\(\) lists what is there", "`lakebed edition TABLE` lists what is there"),
    (r"partitions\(\) lists what is there", "`lakebed partition TABLE` lists what is there"),
    (r"streams\(\) lists them", "`lakebed stream TABLE` lists them"),
    (r'inspect\("__streams"\) lists those that were', "`lakebed inspect __streams` lists those that were"),
    (
        r"Bring these rows into the stream, and commit it with the table's version as seen=…",
        "Load these rows into the stream, and commit it with the table's version: --seen VERSION",
    ),
    (r"undrop_(branch|tag|share|catalog) brings it back", r"`lakebed undrop NAME --type \1` brings it back"),
    (r"catalogs\(…\) lists what is there", "`lakebed ls --catalogs` lists what is there"),
    (r"drop_edition\(…\) deletes it", "`lakebed edition TABLE --drop NAME` deletes it"),
    (r"activate\(…\) makes it active", "`lakebed edition TABLE --activate NAME` makes it active"),
    (r"Drop them first: drop_partition\(…\)", "Drop them first: `lakebed partition TABLE --drop VALUES`"),
    (r"Delete rows by delete\(…\)", "Delete rows by `lakebed sql`"),
    (r"table\.unset_properties\(\[\"(.+?)\"\]\)", r"`lakebed set TABLE --unset \1`"),
    (r"unset_properties\(\[…\]\)", "`lakebed set TABLE --unset KEY`"),
    (r"catalog\.set_properties\(\{'(.+?)': 'true'\}\)", r"`lakebed set \1=true`"),
    (r"set_properties\(\{\"(.+?)\": \"(.+?)\"\}\)", r"`lakebed set TABLE \1='\2'`"),
    (r"Set it by the table's set_properties\(…\)", "`lakebed set TABLE KEY=VALUE` sets it"),
    (r"For example at\(17\), at\(-1\), at\(\"1 hour ago\"\) or at\(tag=\"v1\"\)", "For example 17, -1 or '1 hour ago'"),
    (r"lake\.query\(…, ref=\"dev\"\)", "by --on or --at"),
    (r"with merge\(…, resolve=\) or a strategy", "by --strategy"),
    (
        r"Name columns, as sort_by=\[…\], or give the table an order: evolve\(\)\.sort_by\(\[…\]\)",
        "Name columns by --sort-by, or give the table an order: `lakebed evolve TABLE --sort-by COLUMN`",
    ),
    (
        r"Register table\.changes\(since\)\.to_arrow\(\) with DuckDB, or use lake\.sql\(…\)",
        "`lakebed changes TABLE --since VERSION` shows them, and `lakebed sql` can query them",
    ),
    (r"lake\.sql\((?:spark, )?…\)", "`lakebed sql`"),
    (r"with evolve\(\)", "with `lakebed evolve`"),
    (r"With read_only=True it is read as it is", "--lake 'file:FOLDER?read_only=true' reads it as it is"),
    (r"undrop_partition\(…\) brings it back", "`lakebed partition TABLE --undrop VALUES` brings it back"),
    (r"log\(\) shows the times of its commits", "`lakebed log` shows the times of its commits"),
    (r"log\(\) lists the commits of a catalog", "`lakebed log` lists the commits of a branch"),
    (r"history\(\) those of a table", "`lakebed history TABLE` those of a table"),
    (r"For a tag say so: tag=…\.", "A tag is named by --on."),
    (r"merge\(source, keep_conflicts=True\) begins one", "`lakebed merge REF --keep-conflicts` begins one"),
    (r"Finish or abandon what merge_in_progress\(\) answers", "Finish or abandon it: `lakebed conflicts`"),
    (r"Run lake\.check\(\)", "Run `lakebed check`"),
    (r"a folder that lake\.backup made", "a folder that `lakebed backup` made"),
    (r"pass cascade=True", "use --cascade"),
    (r"pass read_only=True", "open it for reading: --lake 'file:FOLDER?read_only=true'"),
    (r"Connect without read_only=True", "Ask for write access to its folder, or name the lake without read_only=true"),
    (r"as_name=…", "--as NAME"),
    (r"id=…", "--id ID"),
    (r"evolve=\"add\"", "--evolve"),
    (r"Use reset to go back, cherry_pick for one", "Use `lakebed reset` to go back, `lakebed cherry-pick` for one"),
    (r"upsert\(data, on=…\)", "--key COLUMN"),
    (r"with compact\(\)", "with `lakebed compact`"),
    (r"compact\(\) writes", "`lakebed compact TABLE` writes"),
    (r"catalog\.set_properties\(…\) sets it", "`lakebed set KEY=VALUE` sets it"),
    (
        r"Take a path from describe\(\)\.manifest_list\(\) of.*$",
        "`lakebed inspect __manifests` has paths, and so has `lakebed files TABLE`.",
    ),
    (
        r"Take it from describe\(\)\.snapshot\(\) or describe\(\)\.manifest_list\(\)",
        "`lakebed inspect` lists the system tables; `lakebed inspect __manifests` has paths",
    ),
    (r"with table\.evolve\(\) as change: change\.partition_by.*\)", "`lakebed evolve TABLE --partition-by dt`"),
    (
        r"Change tables by their handles, such as .*$",
        "`lakebed load` changes tables, and so does `lakebed sql`, on Spark.",
    ),
    (r"ask an earlier version: table\.at\(…\)\.blame\(…\)", "ask an earlier version: --at VERSION"),
    (r"For example lambda catalog: .*$", 'For example "select count(*) = 0 from sales.orders where price < 0".'),
    (
        r"Use a handle of the branch itself, or create a branch at this version and write there",
        "Name a branch instead, or create one there and write to it: `lakebed branch NAME`, with the same --on or --at",
    ),
    (
        r"Use upsert\(…\) to replace rows with the same keys",
        "Use `lakebed load --upsert` to replace rows with the same keys",
    ),
    (
        r"Look at the error's `conflicts`; change one side, or merge with strategy=.*$",
        "Change one side, or use --strategy.",
    ),
    (r"or pass wait=True", "or use --wait"),
    (r"or run it with breaking=True", "or run it with --breaking"),
    (r"full_refresh='(.+?)'", r"--full-refresh \1"),
    (r"Read it as it is, or pass force=True", "Read it as it is; from Python force=True insists"),
    (r"Run it without resume", "Run it without --resume"),
    (r"Call import_(delta|iceberg)\.", r"`lakebed import \1` brings it."),
    (r"Call it with dry_run=True", "Use --dry-run"),
    (r"\(?history=False\)?", "without --history"),
    (r"history=True", "--history"),
    (r"\bsince=(?=[0-9])", "--since "),
    (r"\bsince=(?= |$)", "--since"),
    (r"replace=True", "--replace"),
    (r"leave_out=\[…\]", "--leave-out COLUMN"),
    (r"Open the same table on the other branch", "Name the branch: TABLE@REF"),
)
_CALLS = tuple((re.compile(call), words) for call, words in _WORDS)


def in_words(advice: str) -> str:
    """The same advice for a shell; what has no word of its own stays as it is."""
    for call, words in _CALLS:
        advice = call.sub(words, advice)
    return advice

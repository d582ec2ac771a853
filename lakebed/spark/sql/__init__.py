"""SQL with the lake's names: statements are parsed here, and their queries run on DataFrames; docs/guide/sql.md."""

"""SQL expressions: parsed, typed by Spark's rules, bound to columns; the clauses of a merge."""

"""SQL expressions, typed by Spark's rules and bound to columns, and the clauses of a merge."""

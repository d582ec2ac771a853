"""Databases as imports read them: by ADBC, or by Spark over JDBC."""

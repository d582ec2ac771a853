"""Inspecting a catalog: system tables, descriptions, JSON documents, a table's history."""

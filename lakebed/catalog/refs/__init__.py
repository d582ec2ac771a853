"""Branches, tags, shares and catalogs."""

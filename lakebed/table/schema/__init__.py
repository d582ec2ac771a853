"""Schemas: fields with ids, their JSON, how they evolve, and the defaults of missing columns."""

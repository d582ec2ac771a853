"""Row changes: delete, update, upsert, merge."""

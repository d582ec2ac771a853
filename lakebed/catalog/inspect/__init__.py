"""What a catalog shows of itself: system tables, descriptions, documents, history."""

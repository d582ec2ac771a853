"""What all named objects have: listings, properties, undrop, purge, the log."""

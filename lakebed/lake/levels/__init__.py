"""The levels below a table: its editions and streams, as its handle calls them."""

"""Tables of Delta Lake, as imports read them: by the library `deltalake`, which reads their log."""

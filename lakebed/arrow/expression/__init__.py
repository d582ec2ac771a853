"""SQL expressions and filters, evaluated on Arrow arrays."""

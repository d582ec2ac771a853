"""Which files and row groups a filter needs, and why; how a plan is cut into splits."""

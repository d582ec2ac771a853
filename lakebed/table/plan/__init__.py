"""Plans: which files and row groups a filter needs and why, and how a plan is cut into splits."""

"""What a commit changes in a table's files: manifests, snapshots, locations, deletion vectors."""

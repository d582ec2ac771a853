"""What the handles of partitions do: reads, appends, registered files, changes of partitions."""

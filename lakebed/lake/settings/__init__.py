"""What handles set on objects: properties, storage, owners."""

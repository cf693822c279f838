"""Reports on compiled models: numbers, speed, pictures."""

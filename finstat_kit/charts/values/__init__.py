"""What charts draw: the numbers of a frame, their classes, estimates and summaries."""

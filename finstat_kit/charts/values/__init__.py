"""What charts draw: the numbers of a frame, their classes, periods and words."""

"""What charts draw: the counts and numbers of a frame, summaries, and classes of values."""

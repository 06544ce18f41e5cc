"""What the columns of results mean, and what their values are."""

"""Words and numbers as people write them."""

"""What charts are drawn with: axes, words, classes, tiles."""

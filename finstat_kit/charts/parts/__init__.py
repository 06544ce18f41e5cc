"""What charts are drawn with: axes, colours, texts, legends, tiles."""

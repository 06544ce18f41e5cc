"""From figures to findings: summaries, panels, growth and peers."""

"""From figures to findings: groups, summaries, panels, growth and peers."""

"""Pickers for notebooks: a place, a day of change, and both with a chart and a table.

In JupyterLab their callbacks run in parallel with cells, on another thread: each picker has one
lock, and none of them uses pyplot, an event loop or the Output widget.
"""

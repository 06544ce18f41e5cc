"""Pickers for notebooks: a place, a day of change, and both with a chart and a table.

Their callbacks run in JupyterLab on another thread than the cells and at the same time: each
picker has one lock, and none of them knows pyplot, an event loop or the Output widget.
"""

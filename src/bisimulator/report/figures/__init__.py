"""Figures, one module per kind: `draw(results)` returns matplotlib figures by name. Nothing opens a window."""

"""Figures, one file a kind: `draw(results)` gives matplotlib figures by name. Nothing is drawn on a screen."""

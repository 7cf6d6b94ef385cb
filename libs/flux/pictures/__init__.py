"""Pictures of models and plans as SVG, written by hand: a few rectangles do not need a plotting library."""

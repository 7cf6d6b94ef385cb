"""Pictures of models and plans as SVG. They are a few rectangles, so no plotting library is needed."""

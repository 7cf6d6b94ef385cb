"""Pictures of figures, models and plans as SVG files. They are a few shapes, so no plotting library is needed."""

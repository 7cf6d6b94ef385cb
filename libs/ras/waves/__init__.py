"""Order the moves of a plan so that no reservation falls below its promise (docs/designs/0020, 0027). Pure."""

"""Objects to containers: say what is wanted in specs, solve it at any scale. Knows nothing about servers."""

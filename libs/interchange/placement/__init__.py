"""The placement folder: tasks, containers, and the answer."""

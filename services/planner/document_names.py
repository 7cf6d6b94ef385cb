"""The names under which a plan's documents are kept: whoever serves them need not import what makes them."""

PLAN, DAG, CHANGES = "plan.json", "dag.json", "changes.json"
MODEL, DISASTER = "model.json", "disaster.json"

"""Name the documents of a plan. The routes import this instead of the code that makes the documents."""

PLAN, DAG, CHANGES = "plan.json", "dag.json", "changes.json"
MODEL, DISASTER, WHAT_IF = "model.json", "disaster.json", "what_if.json"
PLACES = "places.json"

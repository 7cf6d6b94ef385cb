"""/v1/solve-runs: what solves did, how far one is, run one now, stop one."""

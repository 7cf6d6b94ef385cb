"""Attribution, baselines, service models, the joint program of capacity and traffic, its execution plan."""

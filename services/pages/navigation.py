"""The entries of the navigation, in their order: (key, words)."""

EVERYWHERE = (
    ("regions", "/regions", "Regions"),
    ("flux", "/flux", "Flux"),
    ("executions", "/executions", "Executions"),
    ("movers", "/movers", "Movers"),
    ("hardware-types", "/hardware-types", "Hardware types"),
    ("audit", "/audit", "Audit"),
    ("tokens", "/tokens", "Tokens"),
)
OF_A_REGION = (
    ("reservations", "Reservations"),
    ("ask", "Ask"),
    ("requests", "Requests"),
    ("approvals", "Approvals"),
    ("solves", "Solves"),
    ("moves", "Moves"),
    ("what-if", "What if"),
    ("failures", "Failures"),
    ("servers", "Servers"),
    ("quotas", "Quotas"),
)

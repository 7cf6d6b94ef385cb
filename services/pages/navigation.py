"""The entries of the navigation, in their order: (key, words)."""

EVERYWHERE = (("regions", "/regions", "Regions"),)
OF_A_REGION = (
    ("reservations", "Reservations"),
    ("ask", "Ask"),
    ("requests", "Requests"),
    ("approvals", "Approvals"),
    ("solves", "Solves"),
    ("what-if", "What if"),
    ("failures", "Failures"),
    ("servers", "Servers"),
)

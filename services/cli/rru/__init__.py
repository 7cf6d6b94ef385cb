"""`plimsoll rru`: the RRU catalogue of a region, and proposals for it from measurements."""

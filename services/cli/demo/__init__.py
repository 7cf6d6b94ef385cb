"""`plimsoll demo`: a simulated day of a made-up region on the real platform."""

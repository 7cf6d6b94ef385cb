"""Run a simulated day of a made-up region on the real platform: `plimsoll demo`."""

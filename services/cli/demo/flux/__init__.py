"""Close the loop of Flux and RAS on the real platform: `plimsoll demo --flux`."""

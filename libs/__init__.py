"""The libraries of Plimsoll: everything that decides, and everything several services share."""

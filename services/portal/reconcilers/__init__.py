"""The portal's loops."""

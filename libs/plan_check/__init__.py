"""Is this plan legal and safe? By definition only, without a solver."""

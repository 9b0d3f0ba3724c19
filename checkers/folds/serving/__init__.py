"""Whether clients were served: what was in vain though service was owed."""

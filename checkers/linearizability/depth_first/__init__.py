"""The method "depth first": Wing & Gong's search with Lowe's memory."""

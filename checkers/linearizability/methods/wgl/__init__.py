"""The method "wgl": Wing & Gong's search with Lowe's memory."""

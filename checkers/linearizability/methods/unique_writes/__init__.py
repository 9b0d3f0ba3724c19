"""The method "unique writes": registers whose every value is written once."""

"""The state that the metadata log makes, record by record."""

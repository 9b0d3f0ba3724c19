"""`serve`: the stored runs of a folder in a browser. Reads; what decides is in the folder."""

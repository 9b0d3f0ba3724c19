"""That there is such a file puts this folder on the path: the planted runs are in it."""

"""The methods: a file or folder each; `table.py` has them all."""

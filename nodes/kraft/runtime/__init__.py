"""The impure parts of a node: they carry out what the pure cores decide."""

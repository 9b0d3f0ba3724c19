"""Switchable defects, to show that the checkers can fail.

Each file wraps healthy code from outside; the node's own code knows nothing of them.
`python -m nodes.kraft.defects NAME --config server.properties` runs a node that has one.
"""

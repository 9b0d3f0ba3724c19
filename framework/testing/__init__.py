"""What tests of plug-ins need; the project's own tests use the same.

memory      runs a generator with clients in memory: real threads, no cluster
loopback    a server that answers as a test says, and a cluster of such servers, for clients
story       small runs written by hand, for rules of checkers
judging     a story as the engine judges it, with the floors of a checker's clauses
oracle      brute force over all orders of a small history, for checkers of histories

Generators alone need none of it: `framework.generators.simulate` runs them in virtual time.
docs/plugins.md has an example of each.
"""

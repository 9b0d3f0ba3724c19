"""What a run leaves behind, in the framework's own words.

Two contracts. Black box: operations and the fault ledger, which every system has. White box: what
nodes did, one frozen dataclass a kind (`catalogue`), translated by the adapter of each system
(`System.observe`) from whatever that system writes. Rules read these, never a system's own events,
records, codes or roles.
"""

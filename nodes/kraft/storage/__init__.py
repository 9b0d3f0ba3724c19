"""What a node keeps on disk: the metadata log, its quorum state, and whose directory it is."""

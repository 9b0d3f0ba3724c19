"""The metadata log: on disks and as nodes applied it, how far it is committed, and since when."""

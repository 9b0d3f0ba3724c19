"""Who votes, who leads the metadata quorum, and in which role a replica is."""

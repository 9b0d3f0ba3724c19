"""Who serves though it is fenced, and who may be in no ISR: leases, silence, epochs."""

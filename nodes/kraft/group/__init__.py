"""Consumer groups: who is in them, what each reads, how far it got. Decisions alone, no I/O."""

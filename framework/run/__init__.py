"""Running a test: the interpreter, the fault ledger, the store and the lifecycle."""

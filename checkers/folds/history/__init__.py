"""What a history and its ledger say, in types: operations, observations, lives, peace."""

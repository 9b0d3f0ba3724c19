"""Who may do what: principals, access rules, and how a connection proves who it is."""

"""The active controller's decisions. Pure: records and answers out of requests and time."""

"""Sockets: listeners with a queue and a handler each, and channels to other nodes."""

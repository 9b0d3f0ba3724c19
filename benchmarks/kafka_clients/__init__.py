"""Clients in Java and Go: a program each that makes calls and tells what came of them."""

"""Clients of other languages: a program each that makes calls and tells what came of them."""

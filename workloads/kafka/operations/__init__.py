"""Values of operations and of their results, as types: a file a family.

In a history they are JSON; `to_json` and `from_json` are the only places that know its form.
docs/operating.md describes it.
"""

"""Values of operations and of their results, as types: a file a family.

In a history they are JSON; `value.py` knows its form, a member a field.
docs/operating.md describes it.
"""

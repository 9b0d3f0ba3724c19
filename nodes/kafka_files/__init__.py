"""What systems that keep Kafka's files leave on disk, a module a format.

Read for evidence, after the fact: a file may be torn, damaged or a lie. Readers take bytes and
raise nothing for what is in them; they give what is sound, as Arrow tables of one schema a kind,
and say where they stopped, and why. They know no node and no framework.
"""

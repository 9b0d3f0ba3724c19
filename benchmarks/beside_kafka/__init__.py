"""The Python node and Apache Kafka side by side: the same client, the same machine, in turns.

    python -m benchmarks.beside_kafka --rounds 5 --json beside.json

What is measured is a file each (`measuring.Measurement`); `systems` says what both are given.
"""

"""The engine: runs operations and faults against a cluster, records one history, has it checked.

It knows no Kafka. Systems, hosts, nemeses, workloads and checkers reach it through entry points.
"""

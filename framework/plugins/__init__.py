"""What others plug in: the protocols of systems, hosts, nemeses, workloads and checkers."""

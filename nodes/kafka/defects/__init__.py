"""Apache Kafka, broken on purpose, to show that the checkers can fail.

Each file of `java/` is one defect: advice that changes what a method of Kafka's does. An agent puts
it in while a node loads the class; no line of Kafka's code is here, and its jars stay as they are.
"""

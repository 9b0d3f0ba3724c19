"""`python -m nodes.kafka.promises > docs/kafka-promises.md`."""

from nodes.kafka.promises.page import page

if __name__ == "__main__":
    print(page(), end="")

"""What was sent to a log's partitions, and what was polled from them."""

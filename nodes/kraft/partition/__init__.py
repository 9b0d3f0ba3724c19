"""One replica of one partition: what it appends, replicates, answers and truncates. Pure."""

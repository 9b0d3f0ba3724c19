"""What nodes tell anybody of the cluster: brokers, controllers, the quorum, partitions."""

"""The metadata log's state: records to bytes, records to an image, and the image's digest."""

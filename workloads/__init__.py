"""Operations: generators and clients."""

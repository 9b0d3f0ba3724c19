"""Methods that go through time once."""

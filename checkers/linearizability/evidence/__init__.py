"""Why a key is not linearizable, in few operations."""

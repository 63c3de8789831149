"""The public functions that run jobs: train, compare and register."""

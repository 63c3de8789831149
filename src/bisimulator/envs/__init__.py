"""The worlds, one file each; ask for them by name with `bisimulator.make`."""

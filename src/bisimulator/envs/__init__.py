"""The environments, one file per scenario; make them by name with `bisimulator.make`."""

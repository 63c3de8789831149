"""The losses of the Bisimulator as pure functions of arrays, for any solver."""

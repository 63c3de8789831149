"""The Bisimulator's losses as pure functions on arrays of decisions, for any solver."""

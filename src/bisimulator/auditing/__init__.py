"""`bisimulator audit`: how a policy treats the groups of a population over the years, on one page."""

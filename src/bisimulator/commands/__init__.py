"""The subcommands, one file each. What is slow to import is imported inside the function."""

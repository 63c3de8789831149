"""Jobs: what to train and evaluate, where it is stored, and how it is run and resumed."""

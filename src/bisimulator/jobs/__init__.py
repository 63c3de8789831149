"""Jobs: what to train and evaluate, where it is kept, and how it is run and resumed."""

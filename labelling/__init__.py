"""How the training maps of the pattern classifier were sampled, shown and labelled."""

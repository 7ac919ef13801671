"""How the maps of the pattern classifier were sampled, shown and labelled, and what it learns."""

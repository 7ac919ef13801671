"""How the numbers of each paper are computed again, by the paper's own conventions."""

"""What several experiments use: cases of a task, held-out data, loss gradients."""

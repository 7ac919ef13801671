"""What needs more than watching: heads switched off, models compared, fine-tuned."""

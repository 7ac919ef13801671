"""What a person looks at; it reads results and never runs a model."""

"""Helpers without dependencies of their own: files, head names, progress, Ctrl-C, lazy imports."""

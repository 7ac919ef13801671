"""Small helpers that every part uses: files, names of heads, progress, Ctrl-C."""

"""The command line: options, error messages, terminal output.

Nothing here is named after an experiment or an analysis: every experiment brings its verb in a
`command.py` of its own, and what it prints is what is registered.
"""

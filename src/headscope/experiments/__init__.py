"""What needs more than watching: one folder is one experiment, with all of its own.

`__init__.py` is the public function, `compute.py` the computation, `tables.py` what it writes,
`section.py` its part of the report, `command.py` its verb. Nothing here imports torch before a
model is loaded.
"""

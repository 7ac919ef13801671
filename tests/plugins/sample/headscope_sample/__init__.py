"""A plug-in of headscope: one analysis, one reader, one task, one experiment."""

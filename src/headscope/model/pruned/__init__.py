"""A model without some of its heads: removing, saving, loading, exporting."""

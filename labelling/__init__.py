"""How the maps of attention were drawn, shown and labelled that the pattern classifier learns."""

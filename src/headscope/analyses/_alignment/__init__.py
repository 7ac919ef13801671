"""What the analysis of word alignment needs: words of two texts, gold links, its page."""

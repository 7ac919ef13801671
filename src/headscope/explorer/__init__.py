"""The explorer: a live page on this computer, on which heads can be looked at and switched off."""

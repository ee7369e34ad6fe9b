"""Sections of a configuration, by subject. Each field declares and describes one setting."""

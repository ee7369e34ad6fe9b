"""The sections of a configuration, by subject. A field is a setting and describes it."""

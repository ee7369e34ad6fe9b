"""The sections of a configuration, one file each. A field is a setting and describes it."""

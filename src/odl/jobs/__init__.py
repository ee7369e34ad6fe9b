"""Jobs of the rules of the workflow: files in, files out."""

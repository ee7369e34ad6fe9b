"""What one rule of the workflow does: files in, files out."""

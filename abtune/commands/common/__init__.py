"""What several commands share: options, formats, output, progress."""

"""The engine: from a configuration to records, and back to numbers."""

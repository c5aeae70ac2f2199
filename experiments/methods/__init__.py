"""Methods: each module holds one `METHOD`, an `experiments.registry.Method`."""

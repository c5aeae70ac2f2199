"""Methods: each module holds one `METHOD`, an `experiments.engine.registry.Method`."""

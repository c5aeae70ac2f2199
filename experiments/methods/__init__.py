"""Methods: a module holds one, `METHOD`, or a family, `METHODS` (`experiments.engine.registry`)."""

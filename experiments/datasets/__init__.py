"""Data sets: each module holds `DATASETS`, names → `experiments.engine.registry.DataSet`."""

"""Data sets: each module holds `DATASETS`, names → `experiments.registry.DataSet`."""

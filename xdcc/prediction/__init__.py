"""Prediction by flat models: arrays, the kernel that walks them, and what answers ``predict``.

Methods describe themselves to a :class:`~xdcc.prediction.builder.LayoutBuilder`; nothing here knows
an estimator.
"""

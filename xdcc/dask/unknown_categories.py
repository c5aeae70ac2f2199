"""Codes of unknown and rare categories, from the rows of all workers.

As in :mod:`xdcc.base.unknown_categories`; each worker counts its own rows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from distributed import Client, Future

from xdcc.base.fit_data import FitData
from xdcc.base.input_form import InputForm
from xdcc.base.unknown_categories import (
    LabelSums,
    lacking_codes,
    n_rows_of,
    with_rare,
    with_typical,
)
from xdcc.dask.worker_rows import WorkerRows


def settle_on_workers(client: Client, form: InputForm, rows: Sequence[Future]) -> InputForm:
    """Choose the codes, as `settle_unknown_categories` does; only sums leave the workers."""
    if form.unknown_categories != "separate" or not form.categories:
        return form
    n_rows = _summed(client, _n_rows, form, rows)
    form = with_rare(form, {at: sum(parts) for at, parts in n_rows.items()})
    if not lacking_codes(form):
        return form
    sums = _summed(client, _label_sums, form, rows)
    return with_typical(
        form,
        {
            at: LabelSums(*(np.sum(of, axis=0) for of in zip(*parts, strict=True)))
            for at, parts in sums.items()
        },
    )


def _summed(
    client: Client,
    summary: Callable[[WorkerRows, InputForm], dict[int, Any]],
    form: InputForm,
    rows: Sequence[Future],
) -> dict[int, list[Any]]:
    """Collect what each worker's summary has of each column."""
    parts = client.gather(client.map(summary, rows, form=form, pure=False))
    return {at: [part[at] for part in parts] for at in parts[0]}


def _n_rows(rows: WorkerRows, form: InputForm) -> dict[int, Any]:
    data = _checked(rows, form)
    return {at: n_rows_of(data, at) for at in form.categories or {}}


def _label_sums(rows: WorkerRows, form: InputForm) -> dict[int, LabelSums]:
    data = _checked(rows, form)
    categories = form.categories or {}
    return {at: LabelSums.of(data, at, len(categories[at])) for at in lacking_codes(form)}


def _checked(rows: WorkerRows, form: InputForm) -> FitData:
    return rows.data._replace(X=form.check(rows.data.X, "fit"), input_form=form)

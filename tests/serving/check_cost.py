"""The cost of `check_booster` compared with loading: ``python tests/serving/check_cost.py``.

CPU times of one thread, medians of nine, taken in turns.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import xgboost as xgb

from xdcc.serving import check_booster


def cpu_time(act):
    begin = time.process_time()
    act()
    return (time.process_time() - begin) * 1e3


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    for n_trees, n_labels, depth in ((100, 100, 6), (1000, 1, 6), (1000, 3, 4)):
        Y = (X[:, :1] + rng.normal(size=(2000, n_labels)) > 0).astype(int)
        params = {"objective": "multilabel:logistic", "max_depth": depth, "nthread": 1}
        if n_labels == 1:
            params["objective"] = "binary:logistic"
        booster = xgb.train(params, xgb.DMatrix(X, Y), n_trees)
        for form in ("ubj", "json"):
            content = booster.save_raw(form)
            empty = xgb.Booster({"nthread": 1})
            times = [
                (
                    cpu_time(lambda content=content: check_booster(content)),
                    cpu_time(lambda content=content, to=empty: to.load_model(content)),
                )
                for _ in range(9)
            ]
            check, load = np.median(times, axis=0)
            print(
                f"{n_trees} trees x {n_labels} labels, {form}, {len(content) / 1e6:.1f} MB: "
                f"check {check:.1f} ms, load {load:.1f} ms"
            )


if __name__ == "__main__":
    main()

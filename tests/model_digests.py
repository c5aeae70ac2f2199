"""Digests of every method's models and predictions, to compare two commits bit for bit.

A script, not a test. Run it with the environment of each commit, then compare:

    python tests/model_digests.py --output before.json
    python tests/model_digests.py --output after.json
    python tests/model_digests.py --compare before.json after.json

Each method is fitted with small budgets and one thread, in the settings of `SETTINGS`, on data that
the package makes itself, and on emotions, yeast and medical where `xdcc.data` finds them. A record
holds a SHA-256 for each thing that can be had: labels, probabilities, scores, and the model (a
booster's raw bytes, rules, a tree as text). Bytes count: one unit in the last place is a
difference. The comparison prints what differs or is missing and ends with the status 1; an
exception of a method is a record too, with its type, and is printed.

Classes may move between commits: they are looked for in `MODULES`, where a renamed module belongs.
"""

import argparse
import functools
import hashlib
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy and XGBoost: sums of one order

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from xdcc import data

MODULES = (
    "xdcc.boosting",
    "xdcc.automatic",
    "xdcc.chain",
    "xdcc.comparators.rdt",
    "xdcc.comparators.boomer",
    "xdcc.comparators.lacovac",
    "xdcc.comparators.ctbn",
    "xdcc.comparators.baselines",
    "xdcc.decision",
    "xdcc.decision.labelsets",
    "xdcc.decision.f1_maximiser",
    "xdcc.decision.bbc_cv",
)
"""Where a class or function may live, in any of the commits."""

BENCHMARKS = ("emotions", "yeast", "medical")
N_TRAIN, N_TEST = 500, 300

type Digests = dict[str, str]


class Work(NamedTuple):
    """Rows to learn from and rows to predict."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any


class Setting(NamedTuple):
    """A method with parameters, and the data sets that it is fitted on."""

    name: str
    build: Callable[[], Any]
    data_sets: tuple[str, ...]
    then: tuple[dict[str, Any], ...] = ()
    """Parameters that are set after `fit`, one set after the other: they change predictions."""


@functools.cache
def find(name: str) -> Any:
    for module_name in MODULES:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError:
            continue
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(f"{name} is in none of {', '.join(MODULES)}")


def model(name: str, /, *args: Any, **params: Any) -> Callable[[], Any]:
    return lambda: find(name)(*args, **params)


def halves(dataset: data.MultiLabelDataset) -> Work:
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, N_TRAIN + N_TEST)
    return Work(dataset.X[train], dataset.Y[train], dataset.X[test], dataset.Y[test])


def with_categories() -> Work:
    """Numbers with gaps and two categorical columns, one of them with a rare category."""
    whole = data.make_multilabel(N_TRAIN + N_TEST, 8, 5, missing=0.1, random_state=4)
    frame = pd.DataFrame(whole.X, columns=[f"x{j}" for j in range(8)])
    frame["x2"] = pd.cut(frame["x2"], [-9, -1.5, -0.5, 0.5, 9], labels=["a", "b", "c", "d"])
    frame["x5"] = pd.cut(frame["x5"], [-9, 0, 9], labels=["low", "high"])
    labels = pd.DataFrame(whole.Y, columns=list("pqrst"))
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    return Work(frame.iloc[train], labels.iloc[train], frame.iloc[test], labels.iloc[test])


def data_sets() -> Iterator[tuple[str, Work]]:
    size = N_TRAIN + N_TEST
    yield "digits", halves(data.load_digits_properties())
    yield "gaps", halves(data.make_multilabel(size, 12, 6, missing=0.1, random_state=1))
    yield "sparse", halves(data.make_multilabel(size, 30, 6, sparse_features=True, random_state=2))
    yield "unknown", halves(data.make_multilabel(size, 10, 5, unknown=0.2, random_state=3))
    yield "categories", with_categories()
    for name in BENCHMARKS:
        try:
            train, test = data.load_dataset(name, "train"), data.load_dataset(name, "test")
        except FileNotFoundError:
            print(f"{name} was not found (XDCC_DATA): left out", file=sys.stderr)
            continue
        yield (
            name,
            Work(train.X[:N_TRAIN], train.Y[:N_TRAIN], test.X[:N_TEST], test.Y[:N_TEST]),
        )


GAPLESS = ("digits", "emotions", "yeast", "medical")
"""For base learners that take no missing value."""

ALL = ("digits", "gaps", "sparse", "categories", *BENCHMARKS)
WITH_UNKNOWN = (*ALL, "unknown")
NUMBERS = ("digits", "gaps", "sparse", "unknown", *BENCHMARKS)
MIXED = ("digits", "gaps", *BENCHMARKS)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
LOGISTIC = LogisticRegression(max_iter=300)
BOOSTER = {"n_estimators": 15, "max_depth": 5, "random_state": 5, "n_jobs": 1}


def settings() -> Iterator[Setting]:
    yield from boosting_settings()
    yield from chain_settings()
    yield from rdt_settings()
    yield from boomer_settings()
    yield from lacovac_settings()
    yield from ctbn_settings()
    yield from baseline_settings()
    yield from decision_settings()
    yield from tuned_settings()


def boosting_settings() -> Iterator[Setting]:
    name = "MultiLabelXGBClassifier"
    for split in ("sumGain", "maxGain", "sumWeight", "maxWeight", "sumAbsG", "maxAbsG"):
        booster = model(name, split_method=split, **BOOSTER)
        yield Setting(f"{name} {split}", booster, WITH_UNKNOWN)
    drawn = model(name, subsample=0.7, colsample_bynode=0.5, reg_lambda=0.3, max_bin=32, **BOOSTER)
    yield Setting(f"{name} drawn rows and columns", drawn, WITH_UNKNOWN)
    yield Setting(f"{name} lossguide", model(name, grow_policy="lossguide", **BOOSTER), MIXED)


def chain_settings() -> Iterator[Setting]:
    name = "DynamicChainClassifier"
    predictions = ({"prediction": "standard"}, {"prediction": "cumulated", "cumulation": "authors"})
    few = BOOSTER | {"n_estimators": 8}
    yield Setting(f"{name} default", model(name, **few), WITH_UNKNOWN, predictions)
    variants: dict[str, dict[str, Any]] = {
        "in_sample": {"propagate": "in_sample", "chain_length": 4},
        "in_sample without separate-and-conquer": {
            "propagate": "in_sample",
            "chain_length": 4,
            "separate_and_conquer": False,
            "candidates": "all",
        },
        "ensemble": {"propagate": "cross_val", "ensemble": True, "chain_length": 3},
        "cross_val": {"propagate": "cross_val", "chain_length": 3, "end_label": True},
        "certainty": {"order": "certainty", "labels_per_round": 2, "chain_length": 3},
        "sumGain": {"split_method": "sumGain", "chain_length": 3, "early_stopping_rounds": 1},
    }
    for variant, params in variants.items():
        yield Setting(f"{name} {variant}", model(name, **params, **few), WITH_UNKNOWN, predictions)


def rdt_settings() -> Iterator[Setting]:
    name = "RandomDecisionTreeClassifier"
    forest = {"n_estimators": 25, "max_depth": 15, "random_state": 5, "n_jobs": 1}
    predictions: tuple[dict[str, Any], ...] = (
        {"chain": "static"},
        {"chain": None},
        {"chain": None, "threshold": "probability"},
        {"chain": "dynamic", "candidates": "positive", "threshold": "label"},
        {"candidates": "open", "early_stop": True},
        {"early_stop": False, "sigma": 0.5, "threshold": "probability"},
        {"sigma": 1.0, "size_exponent": 0.5, "tree_weight": "equal"},
        {"transformation": "powerset"},
    )
    yield Setting(f"{name} default", model(name, **forest), ALL, predictions)
    other = {"redraw": True, "disjunction_size": 3, "label_test_fraction": 0.5}
    yield Setting(f"{name} redrawn disjunctions", model(name, **forest, **other), ALL, predictions)


def boomer_settings() -> Iterator[Setting]:
    name = "BoomerClassifier"
    predictions = tuple({"prediction": p} for p in ("sign", "known_labelsets", "example_f1"))
    for loss in (
        "logistic_label_wise",
        "logistic_example_wise",
        "squared_label_wise",
        "squared_hinge_label_wise",
    ):
        for head in ("single", "complete"):
            rules = model(name, n_rules=60, loss=loss, head=head, random_state=5, n_jobs=1)
            yield Setting(f"{name} {loss} {head}", rules, ALL, predictions)
    binned: dict[str, Any] = {"loss": "logistic_example_wise", "head": "complete"}
    binned |= {"label_bins": 0.4, "sample": None, "max_features": 0.5, "min_coverage": 3}
    rules = model(name, n_rules=60, max_conditions=3, random_state=5, n_jobs=1, **binned)
    yield Setting(f"{name} label bins", rules, ALL, predictions)


def lacovac_settings() -> Iterator[Setting]:
    tree, forest = "LaCovaCClassifier", "LaCovaCForestClassifier"
    variants: dict[str, dict[str, Any]] = {
        "default": {},
        "LaCova": {"clustering": "all_or_none"},
        "ML-C4.5": {"criterion": "gain_ratio", "clustering": None},
        "variance": {"criterion": "variance", "min_samples_leaf": 1, "smoothing": 0.5},
        "train size": {"threshold_size": "train", "max_leaf_nodes": 12},
        "pruned": {"ccp_alpha": 0.01, "max_depth": 8},
    }
    for variant, params in variants.items():
        yield Setting(f"{tree} {variant}", model(tree, n_jobs=1, **params), ALL)
        few = {"n_estimators": 8, "random_state": 5, "n_jobs": 1}
        yield Setting(f"{forest} {variant}", model(forest, **few, **params), ALL)
    all_rows = model(forest, n_estimators=8, bootstrap=False, max_features="sqrt", random_state=5)
    yield Setting(f"{forest} all rows", all_rows, ALL, ({"voting": "label"},))


def ctbn_settings() -> Iterator[Setting]:
    single, mixture = "CTBNClassifier", "CTBNMixtureClassifier"
    predictions = ({"prediction": "hamming"}, {"prediction": "example_f1", "n_draws": 50})
    for effect in ("separate", "feature"):
        tree = model(single, C=1.0, parent_effect=effect, random_state=5, n_jobs=1)
        yield Setting(f"{single} {effect}", tree, NUMBERS, predictions)
    few: dict[str, Any] = {"max_components": 2, "n_anneal": 20, "random_state": 5, "n_jobs": 1}
    yield Setting(f"{mixture} anneal", model(mixture, C=1.0, **few), MIXED, predictions)
    exact = model(mixture, C=1.0, inference="exact", **few)
    yield Setting(f"{mixture} exact", exact, ("digits", "gaps", "emotions"))
    yield Setting(f"{mixture} chosen C", model(mixture, **few), ("gaps",))
    bayes = model(mixture, base_estimator=GaussianNB(), **few)
    yield Setting(f"{mixture} naive Bayes", bayes, ("digits",))


def baseline_settings() -> Iterator[Setting]:
    for name in ("BinaryRelevance", "ClassifierChain"):
        yield Setting(f"{name} boosters", model(name, **BOOSTER), WITH_UNKNOWN)
        yield Setting(f"{name} logistic", model(name, estimator=LOGISTIC, random_state=5), GAPLESS)
    for order in ("frequent", "rare"):
        chain = model("ClassifierChain", order=order, **BOOSTER)
        yield Setting(f"ClassifierChain {order}", chain, MIXED)
    for name in ("LabelPowerset", "HOMER", "LPBR"):
        yield Setting(f"{name} default", model(name, random_state=5), MIXED)
        yield Setting(f"{name} tree", model(name, estimator=TREE, random_state=5), GAPLESS)
    ensemble = "EnsembleOfChains"
    few = {"estimator": TREE, "n_estimators": 3, "random_state": 5}
    for vote in ("label", "probability"):
        yield Setting(f"{ensemble} {vote}", model(ensemble, vote=vote, **few), GAPLESS)
    for loss in ("subset", "hamming"):
        few = {"estimator": LOGISTIC, "loss": loss, "random_state": 5}
        chain = model("ProbabilisticClassifierChain", **few)
        yield Setting(
            f"ProbabilisticClassifierChain {loss}", chain, ("digits", "emotions", "yeast")
        )
        chains = model("ProbabilisticEnsembleOfChains", n_estimators=2, beam_width=4, **few)
        yield Setting(f"ProbabilisticEnsembleOfChains {loss}", chains, GAPLESS)


def decision_settings() -> Iterator[Setting]:
    def thresholds(method: str, **params: Any) -> Callable[[], Any]:
        return lambda: find("ThresholdClassifier")(
            find("BinaryRelevance")(estimator=LOGISTIC, random_state=5),
            method=method,
            random_state=5,
            **params,
        )

    for method in ("fixed", "pcut", "per_label_pcut", "global", "per_label"):
        yield Setting(f"ThresholdClassifier {method}", thresholds(method), GAPLESS)
    for measure in ("macro_f1", "subset_accuracy", "jaccard"):
        yield Setting(
            f"ThresholdClassifier global {measure}",
            thresholds("global", measure=measure),
            ("digits",),
        )


def tuned_settings() -> Iterator[Setting]:
    name = "TunedDecisionClassifierCV"
    booster = {"n_estimators": 30, "max_depth": 4, "random_state": 5, "n_jobs": 1}

    def tuned(measure: str, **params: Any) -> Callable[[], Any]:
        return lambda: find(name)(
            find("MultiLabelXGBClassifier")(**booster), measure=measure, random_state=5, **params
        )

    for measure in ("example_f1", "subset_accuracy", "macro_f1"):
        yield Setting(f"{name} {measure}", tuned(measure), WITH_UNKNOWN)
    plain = tuned("hamming_accuracy", calibrate=False, ensemble=False)
    yield Setting(f"{name} plain", plain, MIXED)
    tree = model(name, TREE, measure="jaccard", random_state=5)
    yield Setting(f"{name} tree", tree, GAPLESS)
    few = {"n_estimators": 5, "chain_length": 2, "random_state": 5, "n_jobs": 1}
    on_chain = lambda: find(name)(find("DynamicChainClassifier")(**few), random_state=5)  # noqa: E731
    yield Setting(f"{name} chain", on_chain, ("gaps", "emotions"))
    for measure in ("example_f1", "subset_accuracy"):
        automatic = model("MultiLabelClassifier", measure, cv=3, random_state=5, n_jobs=1)
        yield Setting(f"MultiLabelClassifier {measure}", automatic, ("gaps", *BENCHMARKS))
    free = "OrderFreeChainClassifier"
    for prediction in ("mode", "subset_accuracy", "example_f1"):
        chain = model(free, n_estimators=100, cv=3, prediction=prediction, random_state=5, n_jobs=1)
        yield Setting(f"{free} {prediction}", chain, ("gaps", "emotions", "yeast"))


def digest(value: Any) -> str:
    sha = hashlib.sha256()
    if isinstance(value, str | bytes | bytearray):
        sha.update(value.encode() if isinstance(value, str) else value)
    else:
        array = np.ascontiguousarray(value)
        sha.update(f"{array.dtype.str} {array.shape}".encode())
        sha.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
    return sha.hexdigest()


def boosters_of(fitted: Any) -> bytes:
    """Raw bytes of all boosters: one, a list, or lists of them."""

    def raw(found: Any) -> bytes:
        if isinstance(found, list):
            return b"".join(map(raw, found))
        return bytes(found.save_raw("ubj"))

    return raw(getattr(fitted, "booster_", None) or fitted.boosters_)


def text_of_trees(fitted: Any) -> str:
    n_trees = getattr(fitted, "n_estimators", 1)
    few = {"max_labelsets": 10**6, "max_labels": 10**6, "decimals": 17}
    return "\n".join(find("export_text")(fitted, tree=tree, **few) for tree in range(n_trees))


def text_of_mixture(fitted: Any) -> str:
    return repr((fitted.structures_, fitted.C_, [float(w) for w in fitted.mixture_weights_]))


MODEL_OF: dict[str, Callable[[Any], Any]] = {
    "MultiLabelXGBClassifier": boosters_of,
    "DynamicChainClassifier": boosters_of,
    "BoomerClassifier": lambda fitted: repr([vars(rule) for rule in fitted.rules_]),
    "LaCovaCClassifier": text_of_trees,
    "LaCovaCForestClassifier": text_of_trees,
    "CTBNClassifier": text_of_mixture,
    "CTBNMixtureClassifier": text_of_mixture,
    "ClassifierChain": lambda fitted: fitted.order_,
    "ThresholdClassifier": lambda fitted: fitted.thresholds_,
    "TunedDecisionClassifierCV": lambda fitted: fitted.oof_proba_,
    "MultiLabelClassifier": lambda fitted: fitted.oof_proba_,
    "OrderFreeChainClassifier": lambda fitted: fitted.oof_proba_,
}
"""Functions that return the main content of a model as plain arrays or text, for its digest."""


def predictions_of(fitted: Any, X: Any, suffix: str) -> Digests:
    names = ("predict", "predict_proba", "decision_function", "apply")
    return {
        f"{name}{suffix}": digest(getattr(fitted, name)(X))
        for name in names
        if hasattr(fitted, name)
    }


def digests_of(setting: Setting, work: Work) -> Digests:
    fitted = setting.build().fit(work.X, work.Y)
    name = type(fitted).__name__
    found = {"model": digest(MODEL_OF[name](fitted))} if name in MODEL_OF else {}
    found |= predictions_of(fitted, work.X_test, "")
    if hasattr(fitted, "log_prob"):
        found["log_prob"] = digest(fitted.log_prob(work.X_test, work.Y_test))
    for changes in setting.then:
        fitted.set_params(**changes)
        found |= predictions_of(fitted, work.X_test, f" {changes}")
    return found


def rules_on_probabilities(work: Work) -> Digests:
    """Decision rules as functions, on probabilities that no method made."""
    random = np.random.default_rng(6)
    truth = np.nan_to_num(np.asarray(work.Y, dtype=np.float64))
    proba = 0.45 * truth + 0.55 * random.random(truth.shape)
    known = find("KnownLabelsets").of(work.Y)
    marginals = find("SizedMarginals").of_samples(random.random((20, 30, 5)) < 0.4)
    maximum = marginals.maximise()
    losses = random.random((60, 4))
    return {
        "most_probable": digest(known.most_probable(proba)),
        "most_probable with prior": digest(known.most_probable(proba, prior=0.3)),
        "F1 labels": digest(maximum.labels),
        "expected F1": digest(maximum.expected_f1),
        "pcut": digest(find("pcut")(proba, truth.mean())),
        "per_label_pcut": digest(find("per_label_pcut")(proba, truth.mean(axis=0))),
        "best_threshold": digest(find("best_threshold")(work.Y, proba)),
        "best_thresholds_per_label": digest(find("best_thresholds_per_label")(work.Y, proba)),
        "bbc_cv": digest(repr(find("bbc_cv")(losses, n_bootstraps=50, random_state=0))),
    }


def record(make: Callable[[], Digests], title: str) -> Digests:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()
    except Exception as error:
        traceback.print_exc(limit=-2)
        print(f"^^^ {title}", file=sys.stderr)
        return {"error": type(error).__name__}


def all_digests(only: str) -> dict[str, Digests]:
    found = {}
    for data_name, work in data_sets():
        begin = time.process_time()
        for setting in settings():
            title = f"{setting.name} | {data_name}"
            if data_name in setting.data_sets and only in title:
                found[title] = record(functools.partial(digests_of, setting, work), title)
        title = f"rules on probabilities | {data_name}"
        if only in title:
            found[title] = record(functools.partial(rules_on_probabilities, work), title)
        print(f"{data_name}: {time.process_time() - begin:.0f} CPU s", file=sys.stderr)
    return found


def differences(before: dict[str, Digests], after: dict[str, Digests]) -> Iterator[str]:
    for title in dict.fromkeys([*before, *after]):
        if title not in before or title not in after:
            yield f"{title}: only {'after' if title not in before else 'before'}"
            continue
        old, new = before[title], after[title]
        parts = [part for part in dict.fromkeys([*old, *new]) if old.get(part) != new.get(part)]
        if parts:
            yield f"{title}: {', '.join(parts)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="file for the digests (JSON)")
    parser.add_argument("--only", default="", help="fit only what has this in its title")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    arguments = parser.parse_args()
    if (arguments.output is None) == (arguments.compare is None):
        parser.error("one of --output and --compare is needed")
    if arguments.output:
        found = all_digests(arguments.only)
        arguments.output.write_text(json.dumps(found, indent=1) + "\n")
        errors = sum("error" in digests for digests in found.values())
        print(f"{len(found)} records, {errors} of them errors")
        return 0
    before, after = (json.loads(path.read_text()) for path in arguments.compare)
    different = list(differences(before, after))
    print("\n".join(different) or f"{len(before)} records, all equal")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

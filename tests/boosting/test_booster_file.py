"""`check_booster`: files of XGBoost pass, and files that would end the process are refused.

Random edits, on which the kernel is compared with the reference implementation, are those of
``tests/fuzz/targets/boosters.py``.
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from tests.fuzz.campaign import try_target
from tests.fuzz.targets.boosters import BOOSTERS
from tests.reference import booster_scan as reference
from xdcc.boosting._booster_scan import scan
from xdcc.boosting.booster_file import check_booster, read_booster
from xdcc.serving import ModelFileError


def _data(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    Y = (np.nan_to_num(X[:, :3]) + rng.normal(size=(80, 3)) > 0).astype(int)
    if "categories" in kind:
        X = pd.DataFrame(
            {
                "a": pd.Categorical(rng.choice(["x", "y", "größe"], 80)),
                "b": pd.Categorical(rng.choice([3, 5, 1], 80)),
                "c": X[:, 0],
                "d": X[:, 1],
            }
        )
    y = Y if "labels" in kind else Y.sum(axis=1) if "classes" in kind else Y[:, 0]
    return xgb.DMatrix(X, y, enable_categorical=True, nthread=1)


KINDS = {
    "labels": {"objective": "multilabel:logistic"},
    "labels, each with its weight": {"objective": "multilabel:logitraw", "label_weight": "[1,2,3]"},
    "labels in groups": {"objective": "multilabel:sumGain", "labels_per_tree": 2},
    "labels, sketched": {"objective": "multilabel:logistic", "sketch_size": 2},
    "labels and categories": {"objective": "multilabel:logistic"},
    "labels, XGBoost's vectors": {
        "objective": "binary:logistic",
        "multi_strategy": "multi_output_tree",
    },
    "labels, a tree for each": {"objective": "binary:logistic"},
    "one": {"objective": "binary:logistic"},
    "one, pruned": {"objective": "binary:logistic", "tree_method": "exact", "gamma": 2},
    "one, several trees": {"objective": "binary:logistic", "num_parallel_tree": 2},
    "one, categories": {"objective": "binary:logistic"},
    "one, dart, categories": {"objective": "binary:logistic", "rate_drop": 0.5},
    "one, quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]},
    "one, linear": {"objective": "binary:logistic", "booster": "gblinear"},
    "classes": {"objective": "multi:softprob", "num_class": 4},
    "classes, linear": {"objective": "multi:softprob", "num_class": 4, "booster": "gblinear"},
}
"""Parameters of different kinds of boosters."""


@pytest.fixture(scope="module")
def trained():
    boosters = {}

    def train(kind, n_rounds=3):
        if (kind, n_rounds) not in boosters:
            params = {"max_depth": 3, "nthread": 1, **KINDS[kind]}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # gblinear is deprecated
                boosters[kind, n_rounds] = xgb.train(params, _data(kind), n_rounds)
                boosters[kind, n_rounds].save_raw()
        return boosters[kind, n_rounds]

    return train


@pytest.fixture(autouse=True)
def _quiet():
    with xgb.config_context(verbosity=0):
        yield


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_xgboost_writes_passes(trained, kind, form):
    for n_rounds in (3, 0):
        content = trained(kind, n_rounds).save_raw(form)
        check_booster(content)
        assert read_booster(content).save_raw("json") == trained(kind, n_rounds).save_raw("json")


def test_a_slice_passes(trained):
    check_booster(trained("one, dart, categories")[1:].save_raw("ubj"))


def test_dart_as_older_versions_write_it(trained):
    model = json.loads(trained("one, dart, categories").save_raw("json"))
    learner = model["learner"]
    old = learner["gradient_booster"]
    weights = old["model"].pop("weight_drop")
    learner["gradient_booster"] = {"name": "dart", "gbtree": old, "weight_drop": weights}
    check_booster(json.dumps(model).encode())
    weights.pop()
    with pytest.raises(ModelFileError, match="weight_drop is not what XGBoost writes"):
        check_booster(json.dumps(model).encode())


def test_a_path(trained, tmp_path):
    path = tmp_path / "model.ubj"
    trained("labels").save_model(path)
    check_booster(path)
    check_booster(str(path))
    with pytest.raises(FileNotFoundError):
        check_booster(tmp_path / "missing.ubj")


def test_parameters_are_set(trained):
    booster = read_booster(trained("labels").save_raw("ubj"), {"nthread": 3})
    config = json.loads(booster.save_config())
    assert config["learner"]["generic_param"]["nthread"] == "3"


# Files that are refused


def _tree(**entries):
    def edit(model):
        trees = model["learner"]["gradient_booster"]["model"]["trees"]
        for name, value in entries.items():
            if isinstance(value, dict):
                for position, entry in value.items():
                    trees[1][name][position] = entry
            elif value is None:
                del trees[1][name]
            else:
                trees[1][name] = value

    return edit


def _at(path, value):
    def edit(model):
        *above, last = path.split(".")
        for name in above:
            model = model[name]
        if value is None:
            del model[last]
        else:
            model[last] = value

    return edit


MODEL = "learner.gradient_booster.model"
PARAM = "learner.learner_model_param"

# A tree of "labels" has 15 nodes: 0 has the children 1 and 2, 1 has 3 and 4; 3 features split.
EDITS = {
    "child outside": (_tree(left_children={0: 10**8}), r"tree 1: left_children\[0\] is 100000000"),
    "negative child": (_tree(right_children={0: -5}), r"right_children\[0\] is -5, of"),
    "child is the root": (_tree(left_children={1: 0}), r"left_children\[1\] is 0"),
    "child of another": (_tree(left_children={0: 3}), r"left_children\[0\] is 3, whose parent is"),
    "one child twice": (_tree(left_children={0: 1}, right_children={0: 1}), "both children of"),
    "both are the root": (_tree(left_children={0: 0}, right_children={0: 0}), "is 0, of"),
    "child beyond 32 bits": (_tree(left_children={0: 2**32 + 1}), "whole number of 32 bits"),
    "child just beyond 32 bits": (_tree(left_children={0: 2**31}), "whole number of 32 bits"),
    "child just below 32 bits": (_tree(left_children={0: -(2**31) - 1}), "whole number of 32 bits"),
    "least child of 32 bits": (
        _tree(left_children={0: -(2**31)}),
        r"left_children\[0\] is -2147483648",
    ),
    "child is not an integer": (_tree(left_children={0: 1.0}), "whole number of 32 bits"),
    "parent outside": (_tree(parents={3: 10**8}), r"parents\[3\] is 100000000"),
    "root has a parent": (_tree(parents={0: 1}), r"parents\[0\] is 1"),
    "a part that is cut off": (_tree(left_children={0: -1}, right_children={0: 0}), "are below"),
    "no right children": (_tree(right_children=[]), "nodes and 0 right_children"),
    "no nodes": (_tree(left_children=[]), "num_nodes is"),
    "missing list": (_tree(parents=None), "it has no parents"),
    "missing numbers": (_tree(loss_changes=None), "it has no loss_changes"),
    "no mapping": (_tree(tree_param=[]), "no tree_param"),
    "feature outside": (_tree(split_indices={0: 10**7}), "feature 10000000, of 4"),
    "negative feature": (_tree(split_indices={0: -1}), r"split_indices\[0\] is -1"),
    "default is neither": (_tree(default_left={0: 2}), r"default_left\[0\] is 2"),
    "leaves without weights": (_tree(leaf_weights=[]), "it has 0 leaf_weights"),
    "a weight too few": (_tree(leaf_weights=[0.5] * 23), "23 leaf_weights, for leaves of 3"),
    "number of a leaf": (_tree(right_children={-1: 10**6}), "number of a leaf, is 1000000"),
    "one leaf twice": (_tree(right_children={-1: 0}), "number of a leaf, is 0"),
    "no base weights": (_tree(base_weights=[]), "0 base_weights"),
    "infinite weight": (_tree(leaf_weights={0: float("inf")}), "a digit was expected"),
    "weight too large": (_tree(leaf_weights={0: 1e39}), "too large"),
    "long weight": (_tree(leaf_weights={0: 10**50 + 0.5}), "too large"),
    "threshold is not a number": (_tree(split_conditions={0: float("nan")}), "a digit was"),
    "threshold is an integer": (_tree(split_conditions={0: 1}), "a real number was expected"),
    "identity": (_tree(id=0), "tree 1 has the id 0"),
    "something more": (_tree(more=[]), "an unknown 'more'"),
    "width of one": (_tree(tree_param={"size_leaf_vector": "1"}), "tree 1: "),
    "width of 100000": (_tree(tree_param={"size_leaf_vector": "100000"}), "leaves of 100000"),
    "width is a number": (_tree(tree_param={"size_leaf_vector": 3}), "size_leaf_vector is 3"),
    "number of nodes": (_tree(tree_param={"num_nodes": "100000000"}), "num_nodes is 100000000"),
    "number of deleted": (_tree(tree_param={"num_deleted": "1"}), "num_deleted is 1, of 0"),
    "type of a split": (_tree(split_type={0: 2}), r"split_type\[0\] is 2"),
    "split without categories": (_tree(split_type={0: 1}), "1 splits by categories, 0"),
    "categories of none": (_tree(categories=[1]), "1 categories, of which 0"),
    "group of a tree": (_at(f"{MODEL}.tree_info", [0, 10**9, 0]), "tree_info is not"),
    "groups": (_at(f"{MODEL}.tree_info", []), "tree_info has 0 entries, for 3"),
    "starts": (_at(f"{MODEL}.iteration_indptr", [0, 5, 2, 3]), "iteration_indptr is not"),
    "no starts": (_at(f"{MODEL}.iteration_indptr", []), "iteration_indptr is not"),
    "number of trees": (_at(f"{MODEL}.gbtree_model_param.num_trees", "4"), "num_trees is 4, of 3"),
    "parallel trees": (
        _at(f"{MODEL}.gbtree_model_param.num_parallel_tree", "1000000000"),
        "num_parallel_tree is '1000000000'",
    ),
    "no trees": (_at(f"{MODEL}.trees", {}), "it has no trees"),
    "weights of trees": (_at(f"{MODEL}.weight_drop", [1.0]), "weight_drop is not"),
    "categories of features": (_at(f"{MODEL}.cats.feature_segments", [0, 9]), "feature_segments"),
    "order of categories": (_at(f"{MODEL}.cats.sorted_idx", [7]), "sorted_idx is not"),
    "outputs": (_at(f"{PARAM}.num_target", "4"), "base_score has 3 numbers, for 4"),
    "many outputs": (_at(f"{PARAM}.num_target", "1000000000"), "num_target is '1000000000'"),
    "no features": (_at(f"{PARAM}.num_feature", "0"), "num_feature is '0'"),
    "many features": (_at(f"{PARAM}.num_feature", "100000000"), "num_feature is '100000000'"),
    "features with a sign": (_at(f"{PARAM}.num_feature", "-4"), "num_feature is '-4'"),
    "base score": (_at(f"{PARAM}.base_score", "[" * 10**5), r"base_score is '\[\[\["),
    "names": (_at("learner.feature_names", ["a"]), "feature_names has 1 entries, for 4"),
    "types": (_at("learner.feature_types", ["x"] * 4), "feature_types is not"),
    "attributes": (_at("learner.attributes", {"a": 1}), "attributes is not"),
    "brackets in a parameter": (
        _at("learner.objective.label_weight_param", {"label_weight": "[" * 10**5}),
        "label_weight_param is not",
    ),
    "empty parameter": (
        _at("learner.objective.label_weight_param", {"label_weight": ""}),
        "label_weight_param is not",
    ),
    "unknown objective": (_at("learner.objective.name", "multilabel:mystical"), "mystical"),
    "unknown booster": (_at("learner.gradient_booster.name", "gbforest"), "'gbforest'"),
    "no booster": (_at("learner.gradient_booster", None), "gradient_booster is missing or not a"),
    "no learner": (_at("learner", []), "learner is missing or not a mapping"),
    "no version": (_at("version", [3]), "version is not"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_model_is_refused(trained, edit):
    model = json.loads(trained("labels").save_raw("json"))
    change, message = EDITS[edit]
    change(model)
    with pytest.raises(ModelFileError, match=f"^not a booster: .*{message}"):
        read_booster(json.dumps(model).encode())


@pytest.mark.parametrize(
    ("kind", "edit", "message"),
    [
        ("one", _tree(right_children={-1: 0}), "of a leaf is 0"),
        ("one", _tree(base_weights=[]), "0 base_weights"),
        ("one", _tree(split_indices={0: 2**31 - 1}), r"split_indices\[0\] is 2147483647"),
        ("classes", _at(f"{MODEL}.tree_info", [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 4]), "tree_info"),
        ("one, linear", _at(f"{MODEL}.weights", [0.5]), "1 weights, for 4 features and 1"),
        ("one, linear", _at(f"{MODEL}.weights", None), "weights is not"),
        ("one, linear", _at(f"{MODEL}.weights", [float("nan")] * 5), "weights is not"),
        ("one, linear", _at(f"{MODEL}.boosted_rounds", -1), "boosted_rounds is not"),
        ("one, categories", _at(f"{MODEL}.cats.enc", []), "feature_segments"),
        ("one, categories", _at(f"{MODEL}.cats.sorted_idx", [9] * 6), "sorted_idx"),
    ],
)
def test_an_edited_model_of_another_kind_is_refused(trained, kind, edit, message):
    model = json.loads(trained(kind).save_raw("json"))
    edit(model)
    with pytest.raises(ModelFileError, match=message):
        read_booster(json.dumps(model).encode())


def _first_tree_with_categories(model):
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    return next(tree for tree in trees if tree["categories"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("categories_nodes", 10**6, r"categories_nodes\[0\] is 1000000"),
        ("categories_segments", 5, r"categories_segments\[0\] is 5, not 0"),
        ("categories_sizes", 0, r"categories_sizes\[0\] is 0"),
        ("categories_sizes", 10**6, r"categories_sizes\[0\] is 1000000"),
        ("categories", -1, r"categories\[0\] is -1"),
        ("categories", 2**24, r"categories\[0\] is 16777216"),
    ],
)
def test_edited_categories_are_refused(trained, name, value, message):
    model = json.loads(trained("one, categories").save_raw("json"))
    _first_tree_with_categories(model)[name][0] = value
    with pytest.raises(ModelFileError, match=message):
        check_booster(json.dumps(model).encode())


def test_columns_of_categories_are_checked(trained):
    model = json.loads(trained("one, categories").save_raw("json"))
    cats = model["learner"]["gradient_booster"]["model"]["cats"]
    for column, name, value in (
        (0, "offsets", [0, 5, 2, 9]),
        (0, "offsets", [0]),
        (0, "values", [300] * 9),
        (1, "values", ["x"]),
        (2, "values", [1]),
    ):
        old = cats["enc"][column][name]
        cats["enc"][column][name] = value
        with pytest.raises(ModelFileError, match=f"{name} is not what XGBoost writes"):
            check_booster(json.dumps(model).encode())
        cats["enc"][column][name] = old
    for kind in (7, 9.0, "9", None):
        cats["enc"][1]["type"] = kind
        with pytest.raises(ModelFileError, match="type of categories is"):
            check_booster(json.dumps(model).encode())
    cats["enc"][1]["type"] = 9
    check_booster(json.dumps(model).encode())
    cats["enc"][1]["values"][0] = -129
    with pytest.raises(ModelFileError, match="values is not what XGBoost writes"):
        check_booster(json.dumps(model).encode())


def test_a_small_file_cannot_claim_much_memory(trained):
    """A bit for each category below the largest one: 2 MB for each node of some bytes."""
    model = json.loads(trained("one").save_raw("json"))
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    n = len(tree["parents"])
    trees = [
        {
            **tree,
            "id": k,
            "split_type": [1] * n,
            "categories": [2**24 - 1] * n,
            "categories_nodes": [*range(n)],
            "categories_segments": [*range(n)],
            "categories_sizes": [1] * n,
        }
        for k in range(2**26 // (n * 2**19) + 1)
    ]
    model["learner"]["gradient_booster"]["model"].update(
        trees=trees,
        tree_info=[0] * len(trees),
        iteration_indptr=[*range(len(trees) + 1)],
        gbtree_model_param={"num_trees": str(len(trees)), "num_parallel_tree": "1"},
    )
    with pytest.raises(ModelFileError, match="would take too much memory"):
        check_booster(json.dumps(model).encode())


def test_a_tree_of_many_levels(trained):
    model = json.loads(trained("one").save_raw("json"))
    tree = model["learner"]["gradient_booster"]["model"]["trees"][1]

    def set_depth(depth):
        n = 2 * depth + 1
        inner = [*range(1, n, 2)]
        tree["left_children"] = [-1] * n
        tree["right_children"] = [-1] * n
        tree["parents"] = [2**31 - 1] + [0] * (n - 1)
        node = 0
        for child in inner:
            tree["left_children"][node], tree["right_children"][node] = child, child + 1
            tree["parents"][child] = tree["parents"][child + 1] = node
            node = child
        for name in ("split_conditions", "loss_changes", "sum_hessian", "base_weights"):
            tree[name] = [0.5] * n
        for name in ("split_indices", "split_type", "default_left"):
            tree[name] = [0] * n
        tree["tree_param"]["num_nodes"] = str(n)
        return json.dumps(model).encode()

    check_booster(set_depth(1024))
    with pytest.raises(ModelFileError, match="tree 1: it is deeper than 1024"):
        check_booster(set_depth(1025))


def test_a_cycle_is_refused(trained):
    """Every node has the right parent, but the root does not lead to it."""
    model = json.loads(trained("one").save_raw("json"))
    tree = model["learner"]["gradient_booster"]["model"]["trees"][1]
    tree.update(
        left_children=[-1, 2, 1, -1, -1],
        right_children=[-1, 3, 4, -1, -1],
        parents=[2**31 - 1, 2, 1, 1, 2],
        tree_param={**tree["tree_param"], "num_nodes": "5"},
        **dict.fromkeys(("split_indices", "split_type", "default_left"), [0] * 5),
        **dict.fromkeys(
            ("split_conditions", "loss_changes", "sum_hessian", "base_weights"), [0.5] * 5
        ),
    )
    with pytest.raises(ModelFileError, match="1 of its 5 nodes are below its root"):
        check_booster(json.dumps(model).encode())


LONG = (10**12).to_bytes(8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"{", "it is empty"),
        (b"binf", "does not begin as"),
        (b"[]", "does not begin as"),
        (b"{}", "version is missing or not a list"),
        (b'{"a":' + b"[" * 100_000, "more than 32 brackets"),
        (b'{"a":' * 100_000, "more than 32 brackets"),
        (b'{"trees":' * 100_000, "more than 32 brackets"),
        (b'{"version":[3,4,1]', "ends too early"),
        (b'{"version":[3,4,1]} {', "more than one value"),
        (b'{"a":1,"a":2}', "'a' occurs twice"),
        (b'{"\\u0061":1}', "an escape in a key"),
        (b'{"a":"\n"}', "a control character"),
        (b'{"a":"\xff"}', "utf-8"),
        (b'{"a":01}', "begins with 0"),
        (b'{"a":1e9999}', "exponent"),
        (b'{"a":99999999999999999999}', "too many digits"),
        (b'{"a":9999999999999999999}', "too many digits"),
        (b'{"a":nothing}', "not the beginning of a value"),
        (b'{"a":[1 2]}', "',' or ']'"),
        (b'{"a" 1}', "':' was expected"),
        (b'{"a":1 "b":2}', "',' or '}'"),
        (b'{"trees":[1]}', "'{' was expected"),
        (b"{L" + (1).to_bytes(8) + b"a" + b"[" * 10**6, "a list without its length"),
        (b"{L" + (1).to_bytes(8) + b"a" + (b"[#L" + (9).to_bytes(8)) * 99, "more than 32 brackets"),
        (b"{L" + LONG + b"a", "a length of 1000000000000"),
        (b"{L" + (2**64 - 1).to_bytes(8) + b"a", "a length of -1"),
        (b"{L" + (1).to_bytes(8) + b"a[#L" + LONG + b"ZZZZ", "a length of 1000000000000"),
        (b"{L" + (1).to_bytes(8) + b"a[$d#L" + LONG + b"ZZZZ", "a length of 1000000000000"),
        (b"{L" + (1).to_bytes(8) + b"a[$Z#L" + LONG, "a list of an unknown type"),
        (b"{L" + (1).to_bytes(8) + b"aN}", "not the beginning of a value"),
        (b"{L" + (1).to_bytes(8) + b"aL", "ends too early"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, bytes) else "",
)
def test_another_file_is_refused(content, message):
    with pytest.raises(ModelFileError, match=f"^not a booster: .*{message}"):
        check_booster(content)


def test_types_of_lists_in_ubj(trained):
    content = bytes(trained("labels").save_raw("ubj"))
    for name, kind, other in (
        (b"parents", b"l", b"d"),
        (b"default_left", b"U", b"i"),
        (b"categories_sizes", b"L", b"D"),
        (b"leaf_weights", b"d", b"l"),
    ):
        marker = name + b"[$" + kind
        assert marker in content
        with pytest.raises(ModelFileError, match=r"list of another type|'d' was expected"):
            check_booster(content.replace(marker, name + b"[$" + other))


def test_numbers_of_ubj_are_finite(trained):
    content = bytes(trained("labels").save_raw("ubj"))
    at = content.index(b"leaf_weights[$d#L") + len(b"leaf_weights[$d#L") + 8
    for number in (np.nan, np.inf, -np.inf, 2e38):
        edited = content[:at] + np.array(number, ">f4").tobytes() + content[at + 4 :]
        with pytest.raises(ModelFileError, match="not finite, or too large"):
            check_booster(edited)


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("kind", ["labels", "one, dart, categories"])
def test_a_threshold_is_finite_or_the_lowest(trained, kind, form):
    """XGBoost writes -inf where all values go to the right; of a leaf it would be the value."""
    content = bytes(trained(kind).save_raw("json"))
    tree = json.loads(content)["learner"]["gradient_booster"]["model"]["trees"][1]
    for node, threshold, message in (
        (0, -np.inf, None),
        (0, np.inf, "a digit was expected|not finite"),
        (tree["left_children"].index(-1), -np.inf, "the value of leaf .* is not finite"),
    ):
        model = json.loads(content)
        _tree(split_conditions={node: threshold})(model)
        edited = json.dumps(model).encode()
        if form == "ubj":
            edited = xgb.Booster(model_file=bytearray(edited)).save_raw("ubj")
        if message is None or (kind == "labels" and node):
            check_booster(edited)
        else:
            with pytest.raises(ModelFileError, match=message):
                check_booster(edited)


def test_every_truncation_is_refused(trained):
    for kind in ("labels", "one, dart, categories", "one, linear"):
        for form in ("json", "ubj"):
            content = bytes(trained(kind).save_raw(form))
            for length in range(0, len(content), 7):
                with pytest.raises(ModelFileError):
                    check_booster(content[:length])


def test_edits_are_refused_or_used_without_a_fault():
    result = try_target("tests.fuzz.targets.boosters:booster_file", seed=0, seconds=60, inputs=400)
    assert result.findings == []
    assert result.tried > 100
    assert result.refused > 20
    assert result.accepted > 0


@pytest.mark.parametrize("content", [b"1", b"[]", b'"x"', b"null"])
def test_content_that_is_not_an_object(content):
    for read in scan, reference.scan:
        with pytest.raises(ValueError, match=r"."):
            read(content, deepest=32)


def test_the_reference_implementation_reads_the_same():
    """Both read files that were not edited."""
    for contents in BOOSTERS:
        for content in contents:
            trees = reference.scan(content, deepest=32)
            found = scan(content, deepest=32)["learner"]["gradient_booster"]["model"].get("trees")
            if found is None:
                assert trees == []
                continue
            assert found.n_trees == len(trees)
            widths = [int(tree["tree_param"]["size_leaf_vector"]) for tree in trees]
            assert (found.smallest_width, found.largest_width) == (min(widths), max(widths))
            features = [
                feature
                for tree in trees
                for feature, left in zip(tree["split_indices"], tree["default_left"], strict=True)
                if (feature, left) != (reference.DELETED, 1)
            ]
            assert found.largest_feature == max(features)

"""Rows to train on and to measure on."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from experiments.engine.evaluation import Evaluation, Inner
from experiments.engine.registry import DataSet, dataset
from xdcc.data.synthetic import make_multilabel


@pytest.fixture
def numbered():
    """Data whose first feature is the row's number."""
    data = make_multilabel(120, 3, 4, random_state=0)
    data.X[:, 0] = np.arange(120)
    return DataSet(lambda split: data, "made up", has_split=False)


def rows(data):
    return data.X[:, 0].astype(int)


@pytest.mark.parametrize("assignment", ["stratified", "shuffled", "blocks"])
def test_folds_are_a_partition(numbered, assignment):
    evaluation = Evaluation("k_fold", folds=5, assignment=assignment, repeats=2)
    assert evaluation.n_parts == 10
    for repeat in range(2):
        tested = []
        for fold in range(5):
            train, test = evaluation.parts(numbered, 5 * repeat + fold)
            assert not set(rows(train)) & set(rows(test))
            assert len(train) + len(test) == 120
            tested += list(rows(test))
        assert sorted(tested) == list(range(120))


def test_blocks_are_those_of_the_file(numbered):
    evaluation = Evaluation("k_fold", folds=7, assignment="blocks")
    for fold, (_, expected) in enumerate(KFold(7).split(np.zeros(120))):
        assert list(rows(evaluation.parts(numbered, fold)[1])) == list(expected)


def test_random_folds_are_those_of_scikit_learn(numbered):
    evaluation = Evaluation("k_fold", folds=4, assignment="shuffled", seed=3)
    expected = KFold(4, shuffle=True, random_state=3).split(np.zeros(120))
    for fold, (_, test) in enumerate(expected):
        assert list(rows(evaluation.parts(numbered, fold)[1])) == list(test)


def test_first_rows_and_all_rows(numbered):
    train, test = Evaluation("first_rows", train_share=0.75).parts(numbered, 0)
    assert list(rows(train)) == list(range(90))
    assert list(rows(test)) == list(range(90, 120))
    train, test = Evaluation("whole").parts(numbered, 0)
    assert list(rows(train)) == list(rows(test)) == list(range(120))


def test_folds_of_the_training_part():
    evaluation = Evaluation("k_fold", folds=3, assignment="shuffled", rows="train")
    parts = [evaluation.parts(dataset("digits"), fold) for fold in range(3)]
    assert [len(train) + len(test) for train, test in parts] == [1198] * 3
    assert evaluation.key() != Evaluation("k_fold", folds=3, assignment="shuffled").key()


def test_repeats_differ(numbered):
    evaluation = Evaluation("k_fold", folds=3, repeats=2)
    first, second = (rows(evaluation.parts(numbered, k)[1]) for k in (0, 3))
    assert list(first) != list(second)


def test_repeated_random_parts(numbered):
    evaluation = Evaluation("repeated", repeats=3, train_share=0.75)
    parts = [evaluation.parts(numbered, k) for k in range(3)]
    assert [len(train) for train, _ in parts] == [90] * 3
    assert len({tuple(rows(test)) for _, test in parts}) == 3
    again = evaluation.parts(numbered, 1)[1]
    assert list(rows(again)) == list(rows(parts[1][1]))
    other = Evaluation("repeated", repeats=3, train_share=0.75, seed=10)
    assert list(rows(other.parts(numbered, 1)[1])) != list(rows(again))


def test_published_split_or_a_third(numbered):
    train, test = Evaluation("train_test").parts(dataset("digits"), 0)
    assert (len(train), len(test)) == (1198, 599)
    train, test = Evaluation("train_test").parts(numbered, 0)
    assert abs(len(test) - 40) <= 4
    assert len(train) + len(test) == 120


def test_inner_folds_divide_the_training_part(numbered):
    train, _ = Evaluation("k_fold", folds=3).parts(numbered, 0)
    held_out = []
    for fold in range(4):
        inner, validation = Inner(4, fold).parts(train)
        assert set(rows(inner)) | set(rows(validation)) == set(rows(train))
        held_out += list(rows(validation))
    assert sorted(held_out) == sorted(rows(train))


def test_key_holds_what_matters():
    assert Evaluation("train_test", folds=3).key() == Evaluation("train_test").key()
    assert Evaluation("k_fold", folds=3).key() != Evaluation("k_fold").key()
    # more repeats do not change the existing parts
    assert Evaluation("repeated", repeats=3).key() == Evaluation("repeated", repeats=5).key()

"""`kept` frees what it made with its owner, and never gives it to another one."""

import gc

import numpy as np

from xdcc.base import kept as module
from xdcc.base.kept import kept


class Owner:
    pass


def test_it_is_made_again_when_what_it_is_made_from_has_changed():
    owner, values, made = Owner(), np.zeros(3), []

    def make(*made_from):
        return kept(owner, "thing", made_from, lambda: made.append(made_from))

    for made_from in ((values, 1.5), (values, float("1.5")), (values, 2.5), (values,), (values,)):
        make(*made_from)
    make(values.copy())
    assert [len(entry) for entry in made] == [2, 2, 1, 1]
    assert [entry[1] for entry in made[:2]] == [1.5, 2.5]


def test_it_is_freed_with_its_owner():
    before = len(module._KEPT)
    owner, other = Owner(), Owner()
    other.itself = other
    for each in (owner, other):
        kept(each, "thing", (), object)
    assert len(module._KEPT) == before + 2
    del owner, other, each
    gc.collect()
    assert len(module._KEPT) == before


def test_an_owner_of_the_same_number_gets_its_own():
    owner, earlier = Owner(), Owner()
    kept(earlier, "thing", (), lambda: "earlier")
    module._KEPT[id(owner)] = module._KEPT[id(earlier)]
    assert kept(owner, "thing", (), lambda: "own") == "own"
    del earlier
    assert kept(owner, "thing", (), lambda: "new") == "own"

"""Shared documentation: whose entries are filled in, and where."""

import inspect
from functools import partial
from typing import ClassVar

from xdcc.base.documentation import ENTRIES, documented, section
from xdcc.base.estimator import MultiLabelEstimator


def test_documented_fills_in_a_class_and_all_its_kinds_of_methods():
    @documented
    class Reader:
        """{X}"""

        def read(self):
            """Read.

            {X}
            """

        @classmethod
        def of(cls):
            """Make.

            {X}
            """

        @staticmethod
        def check():
            """Check.

            {X}
            """

    for part in (Reader.read, Reader.of, Reader.check):
        assert inspect.cleandoc(ENTRIES["X"]) in inspect.getdoc(part)
    assert Reader.__doc__ == inspect.cleandoc(ENTRIES["X"])


def test_own_entries_come_besides_the_common_ones_and_unknown_names_stay():
    @partial(documented, entries={"tree": "tree : int\n    Which."})
    def depth():
        """Depth.

        {tree}
        {sample_weight}
        {nothing}
        """

    lines = inspect.getdoc(depth).splitlines()
    assert lines[2:4] == ["tree : int", "    Which."]
    assert lines[4].startswith("sample_weight : array-like")
    assert lines[-1] == "{nothing}"


def test_entries_of_a_family_reach_its_subclasses():
    class Family(MultiLabelEstimator):
        _entries: ClassVar = {"size": "size : int"}

    class Member(Family):
        """A member.

        {size}
        """

    assert Member.__doc__.splitlines()[2] == "        size : int"


def test_a_section_keeps_what_is_indented():
    text = section("Raises", "\n        ValueError\n            If not.\n        ")
    assert text == "Raises\n------\nValueError\n    If not."

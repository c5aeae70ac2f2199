"""Type checkers read the package's annotations: its marker is installed."""

from importlib.metadata import files


def test_marker_is_installed():
    (marker,) = [file for file in files("xdcc") if file.name == "py.typed"]
    assert marker.as_posix() == "xdcc/py.typed"
    assert marker.locate().is_file()

"""Compiles the benchmark's small C++ kernels for this machine, when they are needed."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp-simd", "-shared", "-fPIC")


def find_compiler() -> str:
    """Return the system's C++ compiler: what CXX names, else c++, g++ or clang++.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    for name in names:
        if compiler := shutil.which(name):
            return compiler
    raise FileNotFoundError(
        f"the suites roofline and pass need a C++ compiler, and there is no {' or '.join(names)}: "
        "install one, name it in CXX, or leave these suites out"
    )


def compile_kernel(source: Path, folder: Path) -> ctypes.CDLL:
    """Compile a source file into a folder, and load the library.

    Raises
    ------
    FileNotFoundError
        If there is no C++ compiler.
    RuntimeError
        If it does not compile the kernel.
    """
    file = folder / f"{source.stem}.so"
    command = [find_compiler(), *_FLAGS, str(source), "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return ctypes.CDLL(str(file))


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return where an array lies."""
    return ctypes.c_void_p(array.ctypes.data)

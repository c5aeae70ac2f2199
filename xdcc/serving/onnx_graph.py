"""``Graph``: an ONNX model, put together operator by operator.

ONNX is imported when a graph is made: the package is an extra.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET = 18
ML_OPSET = 3
IR_VERSION = 8
ML_DOMAIN = "ai.onnx.ml"

_LISTS = {"i": "INTS", "f": "FLOATS", "S": "STRINGS"}
"""Types of attributes by the kinds of NumPy's types."""


class Graph:
    """Operators, constants, inputs and outputs of an ONNX model.

    Values are referred to by their names.

    Raises
    ------
    ImportError
        If ONNX is not installed.
    """

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError("to_onnx needs ONNX: pip install onnx") from error
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def constant(self, value: Any, dtype: type | None = None) -> str:
        """Store an array; return its name."""
        name = f"constant_{len(self._constants)}"
        array = np.ascontiguousarray(np.asarray(value, dtype))
        self._constants.append(
            self._onnx.numpy_helper.from_array(array.reshape(np.shape(value)), name)
        )
        return name

    def add(self, operator: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> Any:
        """Apply an operator; return the name of its output, or those of several."""
        return self._add(operator, inputs, "", n_outputs, attributes)

    def add_ml(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Apply an operator of the domain ai.onnx.ml; return the name of its output."""
        name: str = self._add(operator, inputs, ML_DOMAIN, 1, attributes)
        return name

    def _add(
        self,
        operator: str,
        inputs: tuple[str, ...],
        domain: str,
        n_outputs: int,
        attributes: dict[str, Any],
    ) -> Any:
        first = len(self._nodes)
        names = [f"{operator}_{first}_{i}" for i in range(n_outputs)]
        node = self._onnx.helper.make_node(operator, inputs, names, domain=domain)
        node.attribute.extend(self._attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)
        return names[0] if n_outputs == 1 else names

    def _attribute(self, name: str, value: Any) -> Any:
        """Make an attribute; arrays need none of ONNX's checks of each entry, which take long."""
        if not isinstance(value, np.ndarray):
            return self._onnx.helper.make_attribute(name, value)
        kind = _LISTS[value.dtype.kind]
        made = self._onnx.AttributeProto(name=name, type=getattr(self._onnx.AttributeProto, kind))
        getattr(made, kind.lower()).extend(value.tolist())
        return made

    def cast(self, value: str, dtype: type) -> str:
        """Convert a value to a type of NumPy."""
        to = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        name: str = self.add("Cast", value, to=to)
        return name

    def full(self, X: str, row: NDArray[Any]) -> str:
        """Repeat a row for each row of a matrix."""
        n_rows = self.add("Slice", self.add("Shape", X), self.constant([0]), self.constant([1]))
        shape = self.add("Concat", n_rows, self.constant([len(row)]), axis=0)
        return str(self.add("Expand", self.constant(row), shape))

    def input(self, name: str, dtype: type, n_columns: int) -> str:
        """Declare a matrix that the model takes, with any number of rows."""
        self._inputs.append(self._matrix(name, dtype, n_columns))
        return name

    def output(self, name: str, value: str, dtype: type, n_columns: int) -> None:
        """Declare a matrix that the model returns, converted to a type of NumPy."""
        to = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._nodes.append(self._onnx.helper.make_node("Cast", [value], [name], to=to))
        self._outputs.append(self._matrix(name, dtype, n_columns))

    def _matrix(self, name: str, dtype: type, n_columns: int) -> Any:
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._onnx.helper.make_tensor_value_info(name, kind, ["n_samples", n_columns])

    def model(self, name: str, version: str, properties: dict[str, str]) -> Any:
        """Make the model, an ``onnx.ModelProto``, and check it."""
        helper = self._onnx.helper
        taken = {each for node in self._nodes for each in node.input}
        constants = [constant for constant in self._constants if constant.name in taken]
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="xdcc",
            producer_version=version,
        )
        helper.set_model_props(model, properties)
        self._onnx.checker.check_model(model)
        return model

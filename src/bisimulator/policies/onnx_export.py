"""Trained networks as ONNX files, for programs that know nothing of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bisimulator.policies._layers import TANH_ABOVE, TANH_BELOW, TANH_RANGE
from bisimulator.policies.networks import MLP, group_codes

OBSERVATIONS, PROBABILITIES, ACTION = "observations", "probabilities", "action"
_OPSET, _IR = 17, 8  # what onnxruntime reads since 2022


def onnx_bytes(network: MLP, *, greedy: bool) -> bytes:
    """An ONNX model from observations (people, numbers) to the probability of each action and the most probable one.

    The probabilities of a greedy policy are 0 and 1.

    Raises:
        ImportError: if onnx is not installed.
    """
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise ImportError("to_onnx needs onnx; install it with: pip install 'bisimulator[models]'") from None
    graph = _Graph(helper)
    last = graph.layers(network)
    graph.add("ArgMax", [last], ACTION, axis=-1, keepdims=0)
    if greedy:
        values = graph.constant(np.array([0, 1], np.float32))
        number = graph.constant(np.array(network.biases[-1].shape[0], np.int64))
        graph.add("OneHot", [ACTION, number, values], PROBABILITIES, axis=-1)
    else:
        graph.add("Softmax", [last], PROBABILITIES, axis=-1)
    outputs = network.biases[-1].shape[0]
    taken = helper.make_tensor_value_info(OBSERVATIONS, TensorProto.FLOAT, ["people", network.inputs])
    given = [
        helper.make_tensor_value_info(PROBABILITIES, TensorProto.FLOAT, ["people", outputs]),
        helper.make_tensor_value_info(ACTION, TensorProto.INT64, ["people"]),
    ]
    whole = helper.make_graph(graph.nodes, "policy", [taken], given, graph.constants)
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(whole, opset_imports=opsets, ir_version=_IR, producer_name="bisimulator")
    content: bytes = model.SerializeToString()
    return content


class _Graph:
    """Nodes and constants of an ONNX graph; names are numbered."""

    def __init__(self, helper: Any) -> None:
        self._helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, inputs: list[str], output: str = "", **attributes: int) -> str:
        output = output or f"value{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def layers(self, network: MLP) -> str:
        """The network as `MLP.__call__` computes it; the name of its outputs."""
        out = self._first(network)
        for w, b in zip(network.weights[1:], network.biases[1:], strict=True):
            out = self._affine(self._tanh(out), np.asarray(w), np.asarray(b))
        return out

    def _tanh(self, x: str) -> str:
        """The network's own tanh, so that decisions are the same."""
        x = self.add("Clip", [x, self._number(-TANH_RANGE), self._number(TANH_RANGE)])
        square = self.add("Mul", [x, x])
        above, below = (self._polynomial(square, p) for p in (TANH_ABOVE, TANH_BELOW))
        return self.add("Div", [self.add("Mul", [x, above]), below])

    def _polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        """From the power 0 on, by Horner's rule."""
        *lower, highest = coefficients
        out = self._number(highest)
        for c in reversed(lower):
            out = self.add("Add", [self.add("Mul", [out, x]), self._number(c)])
        return out

    def _number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def _first(self, network: MLP) -> str:
        left_out = network.coded + network.unseen  # entries of the group one-hot
        seen = self._columns([0, *range(1 + left_out, network.inputs)])
        scale = self.constant(np.float32(network.input_scale).reshape(1))
        out = self._affine(
            self.add("Mul", [seen, scale]), np.asarray(network.weights[0]), np.asarray(network.biases[0])
        )
        if not network.coded:
            return out
        codes = group_codes(network.coded, network.weights[0].shape[1])
        group = self._columns(list(range(1, 1 + network.coded)))
        code = self.add("MatMul", [group, self.constant(codes * np.float32(network.input_scale))])
        return self.add("Add", [out, code])

    def _columns(self, which: list[int]) -> str:
        return self.add("Gather", [OBSERVATIONS, self.constant(np.array(which, np.int64))], axis=1)

    def _affine(self, x: str, w: NDArray[Any], b: NDArray[Any]) -> str:
        return self.add("Add", [self.add("MatMul", [x, self.constant(w)]), self.constant(b)])

"""What an ONNX model of a weight file may ask for, checked before ONNX Runtime sees it.

A small model can ask for gigabytes (a constant of any shape, padding of any width) or for other files (external data).
So the operators, their attributes and the shapes of the weights are bounded. The model is read as protobuf fields; the
numbers are those of onnx.proto.
"""

import math
from collections.abc import Iterator

from plyd.models.errors import BadWeights

ALLOWED = (
    "Add, BatchNormalization, Cast, Concat, Conv, Flatten, Gemm, GlobalAveragePool, GlobalMaxPool, Identity, MatMul, "
    "Mul, Relu, Reshape, Sigmoid, Softmax, Tanh"
)
OPERATORS = frozenset(ALLOWED.split(", "))
MOST_OPERATORS = 1024
LARGEST_ATTRIBUTE = 64
LARGEST_DIMENSION = 4096
ITEM_BYTES = {1: 4, 7: 8}  # float and int64
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_SPARSE = 1, 5, 15
NODE_INPUT, NODE_TYPE, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 4, 5, 7
ATTRIBUTE_INT, ATTRIBUTE_INTS, ATTRIBUTE_TENSORS = 3, 8, (5, 6, 10, 11, 22, 23)  # tensors and graphs: not allowed
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL = 1, 2, 8, 9, 13
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def check_model(model: bytes) -> None:
    """Raise BadWeights if a model asks for more than a network of this project needs."""
    try:
        graphs = [value for number, value in fields(model) if number == MODEL_GRAPH]
        if len(graphs) != 1:
            raise BadWeights(f"the ONNX model has {len(graphs)} graphs; expected one")
        check_graph(list(fields(whole(graphs[0]))))
    except (IndexError, UnicodeDecodeError) as error:
        raise BadWeights(f"the network is not an ONNX model: {error}") from None


def check_graph(graph: list[tuple[int, int | bytes]]) -> None:
    """Check the weights and operators of a graph."""
    if any(number == GRAPH_SPARSE for number, _ in graph):
        raise BadWeights("the ONNX model has sparse weights, which are not allowed")
    weights = {check_tensor(whole(value)) for number, value in graph if number == GRAPH_INITIALIZER}
    nodes = [list(fields(whole(value))) for number, value in graph if number == GRAPH_NODE]
    if len(nodes) > MOST_OPERATORS:
        raise BadWeights(f"the ONNX model has {len(nodes)} operators; at most {MOST_OPERATORS} are allowed")
    for node in nodes:
        check_node(node, weights)


def check_tensor(tensor: bytes) -> bytes:
    """The name of a weight; its data must be in the file, and as much as its shape says."""
    dims: list[int] = []
    kind, name, size = 0, b"", 0
    for number, value in fields(tensor):
        if number == TENSOR_DIMS:
            dims += numbers(value)
        elif number == TENSOR_TYPE and isinstance(value, int):
            kind = value
        elif number == TENSOR_NAME:
            name = whole(value)
        elif number == TENSOR_EXTERNAL:
            raise BadWeights("the ONNX model keeps weights in another file, which is not allowed")
        elif number == TENSOR_RAW:
            size = len(whole(value))
    if max(dims, default=0) > LARGEST_DIMENSION:
        raise BadWeights(f"weights of shape {dims} in the ONNX model; at most {LARGEST_DIMENSION} in each dimension")
    if kind not in ITEM_BYTES or math.prod(dims) * ITEM_BYTES[kind] != size:
        raise BadWeights(f"weights of shape {dims} and type {kind} in the ONNX model, with {size} bytes of raw data")
    return name


def check_node(node: list[tuple[int, int | bytes]], weights: set[bytes]) -> None:
    """Check an operator, its attributes, and that it does not work on weights alone."""
    name = b"".join(whole(value) for number, value in node if number == NODE_TYPE).decode()
    if name not in OPERATORS or any(value for number, value in node if number == NODE_DOMAIN):
        raise BadWeights(
            f'unknown operator "{name[:40]}" in the ONNX model; allowed are {", ".join(sorted(OPERATORS))}'
        )
    inputs = [whole(value) for number, value in node if number == NODE_INPUT]
    if inputs and all(each in weights for each in inputs):
        raise BadWeights(f"{name} in the ONNX model works on weights alone, which may make them larger")
    for number, value in node:
        if number == NODE_ATTRIBUTE:
            check_attribute(name, whole(value))


def check_attribute(operator: str, attribute: bytes) -> None:
    """Check the integers of an attribute; tensors and graphs are not allowed there."""
    for number, value in fields(attribute):
        if number in ATTRIBUTE_TENSORS:
            raise BadWeights(f"{operator} in the ONNX model has a tensor or a graph as attribute, which is not allowed")
        if number in (ATTRIBUTE_INT, ATTRIBUTE_INTS):
            for each in numbers(value):
                signed = each - (1 << 64) if each >> 63 else each
                if abs(signed) > LARGEST_ATTRIBUTE:
                    raise BadWeights(
                        f"{operator} in the ONNX model has the attribute {signed}; at most {LARGEST_ATTRIBUTE}"
                    )


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each protobuf field: an integer, or bytes. Raises IndexError if the data ends too early."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise IndexError(f"field of unknown kind {kind} at byte {at}")
        if at + size > len(data):
            raise IndexError(f"{size} bytes wanted at byte {at} of {len(data)}")
        yield tag >> 3, data[at : at + size]
        at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The integer at a place, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise IndexError(f"an integer of more than ten bytes at byte {at}")


def numbers(value: int | bytes) -> list[int]:
    """The integers of a repeated field: one, or several that are packed."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def whole(value: int | bytes) -> bytes:
    """The bytes of a field; raises IndexError if it is an integer."""
    if isinstance(value, int):
        raise IndexError(f"the integer {value} where a text or a message is expected")
    return value

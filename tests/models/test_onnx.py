"""What an ONNX model may ask for: the network that ships passes, and models that ask for more are refused."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from plyd.engines.core.errors import BadModel
from plyd.engines.gomoku.mcts.inference import load_network, shipped_network
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file
from plyd.models.onnx import LARGEST_DIMENSION, MOST_OPERATORS, check_model

PLANES = helper.make_tensor_value_info("planes", TensorProto.FLOAT, [None, 4, None, None])


def model_of(nodes, weights=()):
    """The bytes of a model from planes to y."""
    tensors = [numpy_helper.from_array(array, name) for name, array in weights]
    given = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(nodes, "network", [PLANES], [given], tensors)).SerializeToString()


def conv(**attributes):
    return helper.make_node("Conv", ["planes", "w"], ["y"], **attributes)


WEIGHTS = [("w", np.ones((8, 4, 3, 3), np.float32))]


def test_the_network_that_ships_passes():
    _, arrays, _ = read_file(shipped_network())
    check_model(arrays["onnx"].tobytes())


def test_a_small_network_passes():
    check_model(model_of([conv(pads=[1, 1, 1, 1])], WEIGHTS))


@pytest.mark.parametrize(
    ("nodes", "weights", "told"),
    [
        ([helper.make_node("ConstantOfShape", ["w"], ["y"])], [("w", np.array([1 << 33]))], "ConstantOfShape"),
        ([helper.make_node("Pad", ["planes", "w"], ["y"])], [("w", np.array([1 << 20] * 8))], 'operator "Pad"'),
        ([conv(pads=[1 << 20] * 4)], WEIGHTS, "attribute 1048576; at most 64"),
        ([conv(dilations=[-70, 1])], WEIGHTS, "attribute -70"),
        ([helper.make_node("Relu", ["planes"], ["y"], domain="mine")], (), 'operator "Relu"'),
        ([conv()], [("w", np.zeros((LARGEST_DIMENSION + 1, 4, 1, 1), np.float32))], "at most 4096 in each dimension"),
        (
            [helper.make_node("Add", ["a", "b"], ["y"])],
            [("a", np.ones((4000, 1), np.float32)), ("b", np.ones((1, 4000), np.float32))],
            "Add in the ONNX model works on weights alone",
        ),
        ([helper.make_node("Relu", ["planes"], ["y"])] * (MOST_OPERATORS + 1), (), "1025 operators"),
    ],
)
def test_a_model_that_asks_for_more_is_refused(nodes, weights, told):
    with pytest.raises(BadWeights, match=told.replace("(", r"\(")):
        check_model(model_of(nodes, weights))


def changed(change):
    """A small model, changed."""
    model = onnx.load_from_string(model_of([conv()], WEIGHTS))
    change(model)
    return model.SerializeToString()


def to_another_file(model):
    onnx.external_data_helper.set_external_data(model.graph.initializer[0], "/etc/passwd")


def to_a_larger_shape(model):
    model.graph.initializer[0].dims[0] = 4096


def to_two_graphs(model):
    model.graph.sparse_initializer.add()


@pytest.mark.parametrize(
    ("change", "told"),
    [(to_another_file, "another file"), (to_a_larger_shape, "1152 bytes of raw data"), (to_two_graphs, "sparse")],
)
def test_weights_must_be_in_the_file_and_as_many_as_their_shape_says(change, told):
    with pytest.raises(BadWeights, match=told):
        check_model(changed(change))


@pytest.mark.parametrize("data", [b"", b"\x00", b"hello", b"\x3a\xff\xff\xff\xff\x0f", b"\x38\x01", b"\xff" * 20])
def test_bytes_that_are_no_model_are_refused(data):
    with pytest.raises(BadWeights):
        check_model(data)


def test_a_file_with_such_a_model_is_refused_by_the_engine(tmp_path):
    header, arrays, _ = read_file(shipped_network())
    model = model_of([conv(pads=[1 << 20] * 4)], WEIGHTS)
    path = tmp_path / "bomb.plyd"
    write_file(path, header, arrays | {"onnx": np.frombuffer(model, np.uint8)})
    with pytest.raises(BadModel, match=r"bomb\.plyd: Conv in the ONNX model has the attribute 1048576"):
        load_network(path)

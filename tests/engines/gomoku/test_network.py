"""The network of Gomoku: what it sees, what it answers, and that what plays is what was trained."""

import numpy as np
import pytest

from plyd.engines.core.errors import BadModel
from plyd.engines.gomoku.board.board import MARGIN, ROWS, STRIDE, count_anew, empty_board
from plyd.engines.gomoku.engine import Gomoku
from plyd.engines.gomoku.mcts.inference import Evaluator, load_network, shipped_network
from plyd.engines.gomoku.mcts.planes import IMAGES, PLANES, image_of, planes_of_games
from plyd.engines.gomoku.rules import Rule, point_of
from plyd.engines.gomoku.train.replay import TrainingGame, batch_of
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from plyd.engines.gomoku.train.export import export, largest_difference, onnx_bytes  # noqa: E402
from plyd.engines.gomoku.train.import_network import import_network, positions_of  # noqa: E402
from plyd.engines.gomoku.train.network import PolicyValueNetwork, losses  # noqa: E402

torch.set_num_threads(1)  # its threads spin, which is slow where cores are busy
FIVE, SURE, FOUR, THREE, TWO, DOUBLE = range(6)


def cells(moves, size):
    return np.array([row * size + column for row, column in (point_of(move, size) for move in moves.split())], np.int16)


def planes_of(moves, size=9, image=0):
    board = empty_board(size, Rule.FREESTYLE)
    played = cells(moves, size)
    out = np.zeros((1, PLANES, size, size), np.uint8)
    planes_of_games(board, size, played[None, :], np.array([len(played)], np.int32), np.array([image], np.uint8), out)
    assert not board.stone.reshape(ROWS, STRIDE)[MARGIN : MARGIN + size, MARGIN : MARGIN + size].any()
    return out[0]


def points(plane, size=9):
    return {"abcdefghi"[column] + str(size - row) for row, column in zip(*np.nonzero(plane), strict=True)}


def some_network(seed=0, blocks=2, channels=8):
    torch.manual_seed(seed)
    network = PolicyValueNetwork(blocks, channels)
    with torch.no_grad():  # as if it had learned: norms that do something
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.weight.uniform_(0.5, 1.5)
                module.bias.uniform_(-0.5, 0.5)
                module.running_mean.uniform_(-0.5, 0.5)
                module.running_var.uniform_(0.5, 1.5)
    return network.eval()


# --- Planes -----------------------------------------------------------------------------------------------------------


def test_the_first_planes_are_own_stones_the_others_the_board_and_who_began():
    planes = planes_of("e5 d4 f5")  # o is to move
    assert points(planes[0]) == {"d4"}
    assert points(planes[1]) == {"e5", "f5"}
    assert planes[2].all()
    assert not planes[3].any()
    assert planes_of("e5 d4")[3].all()


def test_threats_are_those_of_the_mover_first():
    #   c5 d5 e5 f5 are x's, so x makes five at b5 and g5; o has nothing but c1
    planes = planes_of("c5 a1 d5 i1 e5 a9 f5 c1")
    assert points(planes[4 + FIVE]) == {"b5", "g5"}
    assert not planes[10 + FIVE].any()
    planes = planes_of("c5 a1 d5 i1 e5 a9 f5")
    assert points(planes[10 + FIVE]) == {"b5", "g5"}
    assert not planes[4 + FIVE].any()


def test_a_three_shows_where_it_becomes_a_sure_win():
    #   . . c5 d5 e5 . .    b5 and f5 make open fours
    planes = planes_of("c5 a1 d5 i1 e5 a9")
    assert points(planes[4 + SURE]) == {"b5", "f5"}
    assert {"a5", "g5"} <= points(planes[4 + FOUR])
    assert not (planes[4 + SURE] & planes[4 + FOUR]).any()


def test_blocked_points_are_off_the_board():
    board = empty_board(5, Rule.FREESTYLE)
    board.stone.reshape(ROWS, STRIDE)[MARGIN, MARGIN] = 3
    count_anew(board)
    out = np.zeros((1, PLANES, 5, 5), np.uint8)
    planes_of_games(board, 5, np.zeros((1, 1), np.int16), np.zeros(1, np.int32), np.zeros(1, np.uint8), out)
    assert points(1 - out[0, 2], 5) == {"a5"}


@pytest.mark.parametrize("image", range(IMAGES))
def test_planes_and_policy_take_the_same_image(image):
    game = TrainingGame(9, cells("e5 d4 f5 c4 g5 b4", 9), 1)
    game.policies[6] = (cells("h5 d5", 9), np.array([0.75, 0.25], np.float32))
    board = empty_board(9, Rule.FREESTYLE)
    plain = batch_of(board, 9, [(game, 6)], np.zeros(1, np.uint8))
    turned = batch_of(board, 9, [(game, 6)], np.array([image], np.uint8))
    moved = np.array([image_of.py_func(cell, 9, image) for cell in range(81)])
    assert sorted(moved) == list(range(81))
    assert (turned.planes.reshape(PLANES, 81)[:, moved] == plain.planes.reshape(PLANES, 81)).all()
    assert (turned.policy[0, moved] == plain.policy[0]).all()
    assert turned.policy.sum() == pytest.approx(1.0)


def test_the_eight_images_are_eight():
    assert len({tuple(image_of.py_func(cell, 5, image) for cell in range(25)) for image in range(IMAGES)}) == 8


# --- The network ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 15, 20])
def test_one_network_serves_boards_of_every_size(size):
    planes = torch.zeros(3, PLANES, size, size, dtype=torch.uint8)
    logits, values = some_network()(planes)
    assert logits.shape == (3, size * size)
    assert values.shape == (3,)
    assert (values.abs() <= 1).all()


def test_the_policy_is_learned_on_empty_points_only_and_where_there_is_one():
    network = some_network()
    planes = torch.zeros(2, PLANES, 5, 5)
    planes[:, 2] = 1
    planes[0, 0, 0, 0] = 1  # a stone on the first point
    policy = torch.zeros(2, 25)
    policy[0, 7] = 1
    policy_loss, value_loss = losses(network, planes, policy, torch.tensor([1.0, 0.0]), torch.tensor([1.0, -1.0]))
    with torch.no_grad():
        logits, values = network(planes)
    odds = np.exp(logits[0].numpy() - logits[0].numpy().max())
    assert policy_loss.item() == pytest.approx(-np.log(odds[7] / odds[1:].sum()), rel=1e-4)
    assert value_loss.item() == pytest.approx(((values[0] - 1) ** 2 + (values[1] + 1) ** 2).item() / 2, rel=1e-4)


# --- Export -----------------------------------------------------------------------------------------------------------


def test_the_exported_network_answers_as_the_trained_one():
    network = some_network(3)
    assert largest_difference(network, onnx_bytes(network)) < 1e-5


def test_a_network_exported_wrong_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("plyd.engines.gomoku.train.export.onnx_bytes", lambda network: onnx_bytes(some_network(9)))
    with pytest.raises(Exception, match="differs from the trained one"):
        export(some_network(3), tmp_path / "wrong.plyd", "wrong", {})
    assert not (tmp_path / "wrong.plyd").exists()


def test_a_file_for_play_is_read_back_with_its_name_and_checksum(tmp_path):
    path = tmp_path / "small.plyd"
    network = some_network(4)
    sha256 = export(network, path, "small", {"steps": 7})
    evaluator, model = load_network(path)
    assert (model.name, model.sha256) == ("small", sha256)
    header, _, _ = read_file(path)
    assert (header["game"], header["variant"], header["manifest"]["steps"]) == ("gomoku", "freestyle", 7)
    planes = np.random.default_rng(1).integers(0, 2, (5, PLANES, 15, 15)).astype(np.uint8)
    logits, values = evaluator(planes)
    assert (logits.shape, values.shape) == ((5, 225), (5,))
    alone = [evaluator(planes[i : i + 1]) for i in range(5)]  # a batch is no more than its positions
    assert np.allclose(logits, np.concatenate([one for one, _ in alone]), atol=1e-5)


def test_files_that_are_no_network_are_refused(tmp_path):
    path = tmp_path / "bad.plyd"
    path.write_bytes(b"not weights")
    with pytest.raises(BadModel, match="not a file of weights"):
        load_network(path)
    write_file(path, {"kind": "network", "game": "2048"}, {})
    with pytest.raises(BadModel, match="2048, not a policy-value network for gomoku"):
        load_network(path)
    header = {"kind": "policy-value", "game": "gomoku", "planes": 999}
    write_file(path, header, {"onnx": np.zeros(4, np.uint8)})
    with pytest.raises(BadModel, match="planes of version 999"):
        load_network(path)
    write_file(path, header | {"planes": 1}, {"onnx": np.zeros(4, np.uint8)})
    with pytest.raises(BadModel, match="the ONNX model has 0 graphs"):
        load_network(path)
    with pytest.raises(BadModel, match="cannot read"):
        load_network(tmp_path / "nowhere.plyd")
    with pytest.raises(BadModel, match="ONNX Runtime cannot use"):
        Evaluator(b"")


# --- Import -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_positions(monkeypatch):
    """Norms are set by a few positions instead of hundreds."""
    monkeypatch.setattr("plyd.engines.gomoku.train.import_network.GAMES", 1)
    monkeypatch.setattr("plyd.engines.gomoku.train.import_network.POSITIONS", 64)


def test_an_imported_network_answers_as_its_file(tmp_path, few_positions):
    path, network = tmp_path / "small.plyd", some_network(4)
    sha256 = export(network, path, "small", {})
    again = PolicyValueNetwork(network.blocks, network.channels)
    assert import_network(again, path) == sha256
    assert largest_difference(again, onnx_bytes(network)) < 1e-4
    planes = torch.from_numpy(positions_of(load_network(path)[0]))
    with torch.no_grad():  # and while it learns, when norms go by the batch they see, it is the same still
        wanted, got = network.eval()(planes), again.train()(planes)
    for one, other in zip(wanted, got, strict=True):
        assert (one - other).abs().max() < 0.02 * (1 + one.abs().max())


def test_a_network_of_another_shape_is_not_imported(tmp_path):
    path, network = tmp_path / "small.plyd", some_network(4)
    export(network, path, "small", {})
    with pytest.raises(BadWeights, match=f"another shape than a network of {network.blocks + 1}x{network.channels}"):
        import_network(PolicyValueNetwork(network.blocks + 1, network.channels), path)


def test_a_network_whose_input_has_no_planes_is_refused():
    onnx = pytest.importorskip("onnx")
    flat = onnx.helper.make_tensor_value_info("planes", onnx.TensorProto.FLOAT, ["n"])
    outs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n"]) for name in ("policy", "value")]
    nodes = [onnx.helper.make_node("Identity", ["planes"], [name]) for name in ("policy", "value")]
    graph = onnx.helper.make_graph(nodes, "flat", [flat], outs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(BadModel, match="expected planes"):
        Evaluator(model.SerializeToString())


def test_negascout_is_the_default_unless_the_daemon_has_a_network_of_its_own():
    defaults = [
        {option.name: option.default for option in Gomoku(files).card.options}["method"]
        for files in (None, {"renju": shipped_network()})
    ]
    assert defaults == ["negascout", "mcts"]

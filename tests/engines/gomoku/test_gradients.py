"""The data-parallel learner: the gradients of the parts of a batch are those of the batch."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plyd.cluster import Fleet  # noqa: E402
from plyd.cluster.processes import Processes  # noqa: E402
from plyd.engines.gomoku.train.gradients import (  # noqa: E402
    GradientFleet,
    GradientWorker,
    gradient_spec,
    parts_of,
)
from plyd.engines.gomoku.train.learner import DeviceGradients, Learner, LocalGradients  # noqa: E402
from plyd.engines.gomoku.train.replay import ReplayBuffer  # noqa: E402
from plyd.engines.gomoku.train.self_play import SelfPlayParams, self_play, warm_network  # noqa: E402
from tests.cluster.fake import fleet_of  # noqa: E402

STYLE = SelfPlayParams(12, 6, full_share=0.5, hot_plies=4, opening_plies=3, sizes=(7,))
SHAPE = {"blocks": 1, "channels": 4}
NOBODY = None  # computes alone


@pytest.fixture(scope="module")
def batch():
    memory = ReplayBuffer(1000)
    memory.add(self_play(warm_network, STYLE, seed)[0] for seed in range(4))
    return memory.sample(16, np.random.default_rng(1))


@pytest.fixture
def learner():
    torch.manual_seed(1)
    return Learner(1, 4, 0.05, 0.9, 1e-4, 0.99)


def fleet_that_works(workers):
    """A fleet on a fake whose workers do their jobs when they are asked for answers."""
    fleet, backend = fleet_of(*map(str, range(workers)))
    worker, shared = GradientWorker(SHAPE, 1), {}
    send, events = backend.send, backend.events

    def keep(number, ticket, job, given):
        shared[ticket] = given
        send(number, ticket, job, given)

    def answered(seconds):
        for ticket, (_, job) in list(backend.out.items()):
            backend.out[ticket] = None, copy.deepcopy(worker.work(job, *shared[ticket]))
            backend.answer(ticket)
        return [type(event)(event.ticket, event.answer[1]) for event in events(seconds)]

    backend.send, backend.events = keep, answered
    return fleet


def gradients(network):
    return torch.cat([parameter.grad.flatten() for parameter in network.parameters()])


def test_one_worker_computes_what_the_learner_would(batch, learner):
    network, other = learner.network, copy.deepcopy(learner.network)
    here = LocalGradients().accumulate(network, batch)
    there = GradientFleet(fleet_that_works(1), NOBODY).accumulate(other, batch)
    assert there == pytest.approx(here)
    assert torch.allclose(gradients(other), gradients(network), atol=1e-6)
    for one, two in zip(network.buffers(), other.buffers(), strict=True):
        assert torch.allclose(one.float(), two.float(), atol=1e-6)


def test_a_device_computes_what_the_learner_would(batch, learner):
    network, other = learner.network, copy.deepcopy(learner.network)
    elsewhere = DeviceGradients(1, 4, "cpu")  # a copy, as it would be on a GPU
    for _ in range(2):  # the second time with gradients and statistics of the first in place
        assert elsewhere.accumulate(other, batch) == LocalGradients().accumulate(network, batch)
        assert torch.equal(gradients(other), gradients(network))
        assert all(torch.equal(one, two) for one, two in zip(network.buffers(), other.buffers(), strict=True))


def test_losses_of_parts_add_up_and_their_gradients_too(batch, learner):
    whole = float(batch.weight.sum()), len(batch.result)
    worker = GradientWorker(SHAPE, 1)
    state = {name: tensor.numpy().copy() for name, tensor in learner.network.state_dict().items()}
    parts = [copy.deepcopy(worker.work({"columns": part, "whole": whole}, state)) for part in parts_of(batch, 3)]
    found = GradientFleet(fleet_that_works(3), NOBODY).accumulate(learner.network, batch)
    assert found == pytest.approx(tuple(sum(part["losses"][k] for part in parts) for k in (0, 1)))
    for name, weight in learner.network.named_parameters():
        assert weight.grad.numpy() == pytest.approx(sum(part["gradients"][name] for part in parts), abs=1e-5)


def test_without_workers_the_learner_computes_alone(batch, learner):
    fleet, _ = fleet_of()
    assert not fleet.workers
    other = copy.deepcopy(learner.network)
    found = GradientFleet(fleet, LocalGradients()).accumulate(learner.network, batch)
    assert found == LocalGradients().accumulate(other, batch)
    assert torch.equal(gradients(learner.network), gradients(other))


def test_when_all_workers_are_lost_in_a_step_the_learner_computes_it_alone(batch, learner):
    fleet, backend = fleet_of("0", "1")
    send, sent = backend.send, []

    def send_and_lose(number, ticket, job, given):
        send(number, ticket, job, given)
        sent.append(job)
        if len(sent) == 2:
            backend.leave("0", "1")

    backend.send = send_and_lose
    other = copy.deepcopy(learner.network)
    found = GradientFleet(fleet, LocalGradients()).accumulate(learner.network, batch)
    assert found == LocalGradients().accumulate(other, batch)
    assert len(sent) == 2
    assert not fleet.unfinished


def test_parts_are_the_batch(batch):
    parts = parts_of(batch, 5)
    assert [len(part[0]) for part in parts] == [4, 3, 3, 3, 3]
    assert (np.concatenate([part[1] for part in parts]) == batch.policy).all()
    assert len(parts_of(batch, 100)) == 8  # batch norm needs two positions


@pytest.mark.slow  # two processes that import torch
def test_a_learner_learns_with_the_gradients_of_processes(batch, learner):
    with Fleet(Processes(gradient_spec(1, 4), 2)) as fleet:
        learner.gradients = GradientFleet(fleet, LocalGradients())
        found = [sum(learner.learn(batch, None)) for _ in range(15)]
    assert found[-1] < 0.9 * found[0]

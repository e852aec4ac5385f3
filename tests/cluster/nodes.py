"""A real Ray cluster of two nodes with a core each on this machine, which only this process may use."""

import contextlib
import os
import secrets
import sys

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",  # Ray listens on all addresses of this machine
    "RAY_NUM_REDIS_GET_RETRIES": "300",  # seconds for the head to start
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_gcs_rpc_server_connect_timeout_s": "300",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_enable_metrics_collection": "0",
    "RAY_DEDUP_LOGS": "0",
}
HOST = "127.0.0.2"  # Ray replaces 127.0.0.1 by another address
MEMORY = 100 << 20
STARTS = 3  # a machine may be too busy for Ray's patience with its own processes, which is no claim of these tests

assert "ray" not in sys.modules  # it reads its settings when it is imported
os.environ |= SETTINGS | {"RAY_AUTH_TOKEN": os.environ.get("RAY_AUTH_TOKEN", secrets.token_hex(32))}


@contextlib.contextmanager
def ray_nodes(count=2):
    """A head without cores, and nodes with one core each."""
    before = dict(os.environ)
    os.environ |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "node_ip_address": HOST, "object_store_memory": MEMORY}
    cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    try:
        for _ in range(count):
            add_node(cluster)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.clear()
        os.environ |= before


def add_node(cluster):
    """One more node, of one core."""
    facts = {"num_cpus": 1, "node_ip_address": HOST, "object_store_memory": MEMORY}
    return patiently(lambda: cluster.add_node(wait=False, **facts))


def patiently(start):
    """What is started, at the latest at the third try."""
    for left in reversed(range(STARTS)):
        try:
            return start()
        except Exception:
            if not left:
                raise
    return None


def kill_node(cluster, node):
    """End a node as a crash of its machine would: its raylet and its workers, without a farewell."""
    cluster.remove_node(node, allow_graceful=False)

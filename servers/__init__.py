"""Servers: the daemon around the engines. Knows gRPC and the engines' contract; never a game by name."""

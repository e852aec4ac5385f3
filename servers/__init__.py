"""Servers: the daemon around the engines. Knows gRPC and the engines' contract; never a game by name.

What starts a daemon, in order:

cli/              the commands `plyd serve`, `plyd up`, `plyd config` and `plyd token`
settings          all settings: their names, ranges and defaults; gathered from flags, environment and file
daemon_config     settings -> what a daemon is made of; everything that can be wrong is found here
daemon            listens, warms the engines up, serves, shuts down; `systemd` is notified of each step
up_ports          `plyd up`: the port of each game, of its metrics and of the page
supervisor        `plyd up`: one process for each game, restarted when it dies

Beside them: futures (what nobody waits for any more).

What a request meets: access/ (may it come in?), rpc/ (messages), runtime (what all calls share), search/ (its turn and
its search), telemetry/ (what is logged and counted).
"""

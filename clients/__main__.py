"""`python -m plyd.clients` is `plyd`."""

from plyd.clients.cli import main

main(prog_name="plyd")

"""The commands of daemons.

flags      the settings as command line options
serve      `plyd serve` and `plyd up`
config     `plyd config` and `plyd token`
doctor     `plyd doctor`
"""

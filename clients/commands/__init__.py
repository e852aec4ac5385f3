"""Single commands of `plyd`:

solve, solve_tcp   2x3 queries on stdin, or over TCP
health             the health status of a daemon
top, scrape        what daemons are doing, live, read from their metrics
bench              speed figures
bridges            the list of ways to use the engines from other programs
"""

"""`plyd analyze`: queries as JSON lines, or whole game files, in the order in which a query passes through:

cli        the command and its flags
main       queries from stdin, or game files; signals and exit status
pipes      stdin and stdout or a file, without blocking the event loop
fields     every field of queries, actions and answers: the parser, the help and docs/analyze.md follow this table
query      a line of input as a query or an action
work       the queue: which turn of which query is searched next, and what becomes of it
engines    the daemons that search: at an address, or a private one for each game
answer     a report as an answer; answers as CSV
progress   the progress bar on stderr
review     the moves of a game file with what each of them lost; the plot
"""

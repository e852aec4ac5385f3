"""`plyd match`: many games between two engines, and which one is stronger. In the order of a match:

cli           the command: options, then connect, play, report
side          one side from its KEY=VALUE text: name, daemon, limits, options
connect       the sides connected to their daemons, and the referee
openings      random openings or those of a file; the schedule of games
runner        plays the scheduled games concurrently
seat          one side in one game: stream, clock, forfeits
adjudication  ends games whose result is clear
results       finished games, their file, and their sum
elo           Elo, likelihood of superiority, and the sequential test
report, live  the result as JSON and as a table, which is redrawn on a terminal

`plyd tournament` (clients/tournament) plays its games with the same files.
"""

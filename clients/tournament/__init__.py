"""`plyd tournament`: many players, many games, one table. In the order of a tournament:

cli        the command: reads the file, connects, plays, reports
settings   the TOML file: players, schedule, openings, adjudication
plan       the rounds and the numbers of their games
pairings   round-robin, gauntlet and Swiss; matching: Swiss rounds without rematches
play       plays the planned games with clients/match, and saves each one
ratings    Elo with error bars by maximum likelihood
standings  the table, the cross table, and the same as JSON
page       a page on loopback: standings, and the boards of games in progress (static/)
"""

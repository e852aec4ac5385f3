"""Searches, in the order a request meets them.

turns         parties that wait take turns: calls that come in crowds, and others
game_record   the game that a request describes: start, moves, current position
rules_pool    threads for questions about rules that would hold the event loop up
known_question what a search is asked
known_reports reports of earlier searches, which need no second search: a table in memory
store         the same across restarts, in store_database (SQLite or PostgreSQL), as report_text
engine_parts  what is loaded and compiled of the engines
session       a game and the searcher that follows it; runs its searches
play_on       many moves that the engine makes by itself in a session's game
scheduler     slots, and the queue of those that wait for one
job           one search on its way through the scheduler
fair_share    whose turn it is
admission     whether a search is likely to get a slot in time; if not, it is refused at once
"""

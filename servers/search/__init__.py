"""Searches, in the order a request meets them.

game_record   the game that a request describes: start, moves, current position
rules_pool    threads for questions about rules that would hold the event loop up
engine_parts  what is loaded and compiled of the engines
session       a game and the searcher that follows it; runs its searches
play_on       many moves that the engine makes by itself in a session's game
known/        what earlier searches found: a question that is known needs no second search
slots/        search slots, and who gets the next one
"""

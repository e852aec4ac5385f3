"""Search slots, and who gets the next one.

turns         parties that wait take turns: calls that come in crowds, and others
scheduler     slots, and the queue of those that wait for one
job           one search on its way through the scheduler
fair_share    whose turn it is
admission     whether a search is likely to get a slot in time; if not, it is refused at once
"""

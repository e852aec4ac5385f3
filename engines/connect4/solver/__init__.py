"""The exact solver of one position.

solver       asks a sequence of questions: first who wins, then how soon
alpha_beta   the kernel that answers each: is the position's value greater than alpha?
"""

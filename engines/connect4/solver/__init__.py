"""The exact solver of one position.

solver       asks one question after another: who wins, then how soon
alpha_beta   the kernel that answers: is this position worth more than that?
"""

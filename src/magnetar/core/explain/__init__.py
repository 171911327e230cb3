"""Why a subscription, or one key of it, does or does not move: dispatcher state turned into verdicts and facts.

Nothing here changes anything, and nothing is kept for it while messages flow: what it says is read off the state that
dispatching needs anyway. What would take a walk over everything that is pending is walked once, in one function.
"""

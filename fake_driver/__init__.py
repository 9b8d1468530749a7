"""A complete DRA driver without hardware, whose defects can be switched on one by one.

It is the driver that the conformance suite is proved with: clean, it passes; with
``--fault=CASE-ID`` exactly this case fails. It shares no code with the checks, so that a
misunderstanding on one side shows on the other.
"""

"""A good driver with many legal oddities, each behind a switch: none of them may fail a case.

``python -m tests.drivers.good --help`` lists them. It shares nothing with the suite but the
message classes, and nothing with the bundled fake driver.
"""

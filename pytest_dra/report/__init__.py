"""Results, verdicts and the writers of reports.

``results`` is what came out, ``verdict`` what it allows to be said, ``exits`` the exit status;
``yaml_report``, ``junit`` and ``terminal`` only write that down. Nothing here imports pytest, and
PyYAML and jsonschema only when a report is written.
"""

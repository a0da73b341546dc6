"""What is configured and cannot be built."""

from __future__ import annotations

from groundgraph.core.errors import ConfigurationError, Problem


class Unusable(ConfigurationError):
    """A strategy lacks something. In a chain the next one takes over; alone it is an error.

    Attributes:
        of_this_machine: a key or a package is missing here; the configuration itself may be right.
    """

    def __init__(self, problem: Problem, *, of_this_machine: bool) -> None:
        self.of_this_machine = of_this_machine
        super().__init__([problem])

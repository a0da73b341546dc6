"""The section `tracing`: spans of OpenTelemetry."""

from importlib.util import find_spec

from pydantic import Field

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.section import Section


class TracingSettings(Section):
    """Spans for a turn and its parts. They go to the application's own tracer provider; none is set up here."""

    enabled: bool = Field(False, description="Open OpenTelemetry spans with OpenInference kinds.")
    content: bool = Field(
        False, description="Put questions, texts, prompts and error messages into the spans, beside ids and numbers."
    )

    def require_packages(self) -> None:
        """Nothing, when tracing is off or can work.

        Raises:
            ConfigurationError: it is on, and a package is missing.
        """
        if self.enabled and not (_installed("opentelemetry.trace") and _installed("openinference.semconv")):
            raise ConfigurationError([Problem("tracing.enabled", 'needs: pip install "groundgraph[otel]"')])


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package above it is missing.
        return False

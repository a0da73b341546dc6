"""`citation_check`: what is done about an answer that does not agree with its evidence."""

from typing import Any, Literal

from pydantic import Field, field_validator

from groundgraph.core.section import Section

# What is done about a finding: nothing, a flag, one more call of the model, or no answer at all.
Policy = Literal["off", "annotate", "repair", "refuse"]


class CitationCheckSettings(Section):
    """What happens when the answer of a model does not agree with its evidence.

    Labels that refer to no evidence are taken out whatever the policy says, and links and images that lead elsewhere
    are made plain text. With `repair` or `refuse` anywhere the answer is held until it is checked.
    """

    labels: Policy = Field("annotate", description="labels that refer to no evidence")
    quotes: Policy = Field("annotate", description="quotations that do not stand in what they cite")
    numbers: Policy = Field("annotate", description="numbers, dates, units and codes that do not")
    names: Policy = Field("annotate", description="names that stand neither in the evidence nor in the question")
    uncited: Policy = Field("annotate", description="sentences that should cite something and do not")
    support: Policy = Field("annotate", description="sentences that share too few words with what they cite")
    links: Policy = Field("annotate", description="links and images that do not lead to the evidence")

    @field_validator("*", mode="before")
    @classmethod
    def _no_is_off(cls, value: Any) -> Any:
        return "off" if value in (None, False) else value

    @property
    def holds(self) -> bool:
        """Whether the answer is held until it is checked, since what was streamed cannot be taken back."""
        return any(policy in ("repair", "refuse") for _, policy in self)

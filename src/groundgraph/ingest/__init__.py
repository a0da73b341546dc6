"""From files and pages to documents, and the six chains of a knowledge base."""

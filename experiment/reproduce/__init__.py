"""What experiments that simulate figures of papers share: runs, data, verdicts, the page."""

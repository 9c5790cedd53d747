"""RuleSet to text, frame, JSON, HTML and terminal; one format a file."""

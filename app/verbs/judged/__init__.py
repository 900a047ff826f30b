"""What verbs judged, as suites of JUnit XML (``--junit``): of single runs, and of many."""

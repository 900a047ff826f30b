"""Many runs on one page: what each showed, and which findings are new, ongoing, rare or resolved.

Read first: ``zonelab.analysis.run_index.index``, then docs/index-page.md. Reads the JSON files of runs, never their
tables.
"""

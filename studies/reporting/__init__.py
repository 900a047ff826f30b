"""Output of studies on a terminal: tables of figures, progress, and forecasts of how long they take."""

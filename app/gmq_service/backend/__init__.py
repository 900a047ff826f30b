"""What the service does at its server, whoever asks for it: connections, jobs in each mode, pops that wait."""

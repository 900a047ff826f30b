"""Backend of the service at its server: connections, jobs in each mode, pops that wait."""

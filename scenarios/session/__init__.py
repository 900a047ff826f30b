"""A cluster that stays up for a manual session: what ``zonelab up`` starts and the other verbs act upon."""

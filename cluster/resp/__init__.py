"""A RESP server in front of a coordinator: any Redis client, in any language, becomes a client of the cluster."""

"""A mutation suite: small faults planted one at a time, and which test or simulated run notices each."""

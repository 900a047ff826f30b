"""JSON-RPC over TCP, byte for byte as Go's net/rpc/jsonrpc serves it."""

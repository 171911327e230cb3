"""The same requests to two brokers, and what they answer otherwise."""

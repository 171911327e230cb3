"""What each action does, by who does it: clients, connections, operators, and the world around the broker."""

"""What the broker does for each command that is not on the hot path; ``table`` says which function answers which."""

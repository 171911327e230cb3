"""Topics of which nothing is stored: messages go from the producer to whoever takes them now, or are dropped."""

"""Measure brokers that speak Pulsar's protocol, as ratios in one run: ``python -m bench``."""

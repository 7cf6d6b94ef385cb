"""Actuators carry out steps on real servers: one actuator per file."""

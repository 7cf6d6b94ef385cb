"""The Resource Broker: servers, bindings, health events, regions."""

"""Plan capacity and traffic over regions from traces, usage and inputs, weekly and on demand."""

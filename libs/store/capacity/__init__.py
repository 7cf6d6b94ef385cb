"""Reservations, capacity requests, approvals, quotas, findings and coverage."""

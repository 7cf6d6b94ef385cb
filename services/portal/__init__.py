"""Take capacity requests, and hold reservations, approvals and quotas."""

"""Persons and machines from issuers of tokens: the issuers' file, their keys, and the rules from claims to roles.

docs/designs/0043-identity.md has the decisions.
"""

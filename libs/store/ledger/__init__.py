"""The capacity ledger. docs/ledger.md says what it promises."""

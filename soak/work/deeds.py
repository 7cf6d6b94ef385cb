"""The deeds with their weights, and the loop that does them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from soak.work import access, capacity, executing, fleet, operating, planning
from soak.work.client import Client

DEEDS: Mapping[Callable[[Client], None], int] = {
    capacity.create: 4,
    capacity.rush: 2,
    capacity.create_window: 1,
    capacity.follow: 5,
    capacity.resize: 5,
    capacity.delete: 4,
    capacity.withdraw: 2,
    capacity.amend: 2,
    capacity.use: 8,
    fleet.report: 1,
    fleet.lose: 2,
    fleet.mend: 4,
    fleet.retire: 1,
    fleet.keep: 1,
    fleet.import_region: 1,
    fleet.propose_import: 1,
    fleet.decide_import: 2,
    fleet.look: 2,
    operating.set_policy: 4,
    operating.ask_policy: 1,
    operating.decide: 4,
    operating.set_quota: 1,
    operating.set_limits: 2,
    operating.solve: 1,
    operating.look_at_grants: 2,
    operating.simulate: 1,
    operating.apply_simulation: 3,
    operating.deal_with_dead_letter: 5,
    planning.export_spans: 2,
    planning.report_usage: 2,
    planning.report_traffic: 1,
    planning.put_input: 1,
    planning.run_plan: 1,
    executing.execute: 5,
    executing.command_plan: 5,
    executing.command_action: 6,
    executing.decide_action: 4,
    executing.look_at_ledger: 5,
    access.make_token: 2,
    access.rotate_token: 2,
    access.revoke_token: 2,
    Client.send_again: 2,
}
"""Deed -> weight."""


def work(client: Client, over: threading.Event) -> None:
    """Do random deeds with short pauses until `over` is set."""
    while not over.wait(client.chance.expovariate(8.0)):
        [deed] = client.chance.choices(list(DEEDS), list(DEEDS.values()))
        deed(client)

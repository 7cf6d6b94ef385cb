"""Random work as owners, operators, planners, health systems and allocators do it. Each deed can be judged."""

from soak.work.client import Client, Site
from soak.work.deeds import DEEDS, work

__all__ = ["DEEDS", "Client", "Site", "work"]

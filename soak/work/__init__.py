"""Random work of owners, operators, planners, health systems and allocators. Rules can judge each deed."""

from soak.work.client import Client, Site
from soak.work.deeds import DEEDS, work

__all__ = ["DEEDS", "Client", "Site", "work"]

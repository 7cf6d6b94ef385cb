"""One page or noun per file: read the API, and show it. `VIEWS` and `FORMS` have their addresses."""

from services.pages.views.approvals import show_approvals
from services.pages.views.ask import show_ask
from services.pages.views.audit import AUDIT
from services.pages.views.execution import show_execution
from services.pages.views.executions import show_executions
from services.pages.views.failures import show_failures
from services.pages.views.flux_cycles import show_cycles
from services.pages.views.flux_ledger import show_ledger
from services.pages.views.flux_models import show_model, show_models
from services.pages.views.flux_plan import show_flux
from services.pages.views.hardware_types import HARDWARE_TYPES
from services.pages.views.listing import page_of
from services.pages.views.movers import MOVERS
from services.pages.views.moves import show_moves
from services.pages.views.quotas import QUOTAS
from services.pages.views.region import show_first, show_region, show_regions
from services.pages.views.requests import REQUESTS
from services.pages.views.reservations import RESERVATIONS, show_reservation
from services.pages.views.rollout import show_rollout
from services.pages.views.rollouts import show_rollouts
from services.pages.views.server import show_server
from services.pages.views.servers import SERVERS
from services.pages.views.simulation import show_simulation
from services.pages.views.solve import show_solve
from services.pages.views.solves import show_solves
from services.pages.views.style import show_style
from services.pages.views.tokens import TOKENS
from services.pages.views.what_if import show_what_if

VIEWS = (
    ("/", show_first),
    ("/regions", show_regions),
    ("/regions/{region}", show_region),
    ("/regions/{region}/reservations", page_of(RESERVATIONS)),
    ("/regions/{region}/servers", page_of(SERVERS)),
    ("/regions/{region}/servers/{name:path}", show_server),
    ("/regions/{region}/failures", show_failures),
    ("/audit", page_of(AUDIT)),
    ("/executions", show_executions),
    ("/flux", show_flux),
    ("/flux/models", show_models),
    ("/flux/models/{service:path}", show_model),
    ("/flux/ledger", show_ledger),
    ("/flux/cycles", show_cycles),
    ("/style", show_style),
)
FORMS = (
    ("/regions/{region}/reservations/{name:path}", show_reservation),
    ("/regions/{region}/requests", page_of(REQUESTS)),
    ("/executions/{execution}", show_execution),
    ("/regions/{region}/moves", show_moves),
    ("/regions/{region}/ask", show_ask),
    ("/regions/{region}/approvals", show_approvals),
    ("/regions/{region}/solves", show_solves),
    ("/regions/{region}/solves/{run}", show_solve),
    ("/regions/{region}/rollouts", show_rollouts),
    ("/regions/{region}/rollouts/{rollout}", show_rollout),
    ("/regions/{region}/what-if", show_what_if),
    ("/regions/{region}/what-if/{simulation}", show_simulation),
    ("/regions/{region}/quotas", page_of(QUOTAS)),
    ("/hardware-types", page_of(HARDWARE_TYPES)),
    ("/movers", page_of(MOVERS)),
    ("/tokens", page_of(TOKENS)),
)
"""Pages that also take POST, with its fields in `Visit.form`."""

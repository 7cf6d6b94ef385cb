"""One page or noun per file: read the API, and show it. `VIEWS` and `FORMS` have their addresses."""

from services.pages.views.approvals import show_approvals
from services.pages.views.ask import show_ask
from services.pages.views.failures import show_failures
from services.pages.views.region import show_first, show_region, show_regions
from services.pages.views.requests import show_requests
from services.pages.views.reservations import show_reservation, show_reservations
from services.pages.views.servers import show_servers
from services.pages.views.simulation import show_simulation
from services.pages.views.solve import show_solve
from services.pages.views.solves import show_solves
from services.pages.views.style import show_style
from services.pages.views.what_if import show_what_if

VIEWS = (
    ("/", show_first),
    ("/regions", show_regions),
    ("/regions/{region}", show_region),
    ("/regions/{region}/reservations", show_reservations),
    ("/regions/{region}/reservations/{name:path}", show_reservation),
    ("/regions/{region}/requests", show_requests),
    ("/regions/{region}/servers", show_servers),
    ("/regions/{region}/failures", show_failures),
    ("/style", show_style),
)
FORMS = (
    ("/regions/{region}/ask", show_ask),
    ("/regions/{region}/approvals", show_approvals),
    ("/regions/{region}/solves", show_solves),
    ("/regions/{region}/solves/{run}", show_solve),
    ("/regions/{region}/what-if", show_what_if),
    ("/regions/{region}/what-if/{simulation}", show_simulation),
)
"""Pages that also take POST, with its fields in `Visit.form`."""

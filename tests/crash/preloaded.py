"""The code of all jobs, for the server of forks to load once."""

from services.standalone.worker import jobs_of

jobs_of("all")

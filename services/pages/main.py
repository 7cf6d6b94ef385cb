"""Run the pages as a process: `python -m services.pages.main serve`."""

from __future__ import annotations

from libs.reconcile.command import run_command


def serve() -> None:
    """Show the pages."""
    import uvicorn

    from libs.reconcile.environment import read_environment
    from libs.web.listening import ListenSettings
    from services.pages.app import make_app

    listen = read_environment(ListenSettings)
    uvicorn.run(
        make_app(),
        host=listen.host,
        port=listen.port,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=listen.trusted_proxies is not None,
        forwarded_allow_ips=listen.trusted_proxies,
    )


if __name__ == "__main__":
    run_command("services.pages.main", serve)

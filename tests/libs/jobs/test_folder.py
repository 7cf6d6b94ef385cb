import pytest
from kombu import Connection
from kombu.transport import filesystem

from libs.jobs import folder


def test_a_worker_looks_often_whether_it_is_to_end(tmp_path, monkeypatch):
    """It checks often, however long Celery would wait for a message."""
    waited = []
    real = filesystem.Transport.drain_events

    def look(self, connection, timeout=None):
        waited.append(timeout)
        real(self, connection, min(timeout, 0.01))

    monkeypatch.setattr(filesystem.Transport, "drain_events", look)
    options = {"data_folder_in": str(tmp_path), "data_folder_out": str(tmp_path), "polling_interval": 0.01}
    with Connection(f"{folder.SCHEME}://", transport_options=options) as connection:
        connection.channel()
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=2.0)
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.02)
    assert waited == [folder.LOOK_S_MAX, 0.02]

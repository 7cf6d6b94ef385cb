"""The parts of a large file make up the file, and each is within the platform's limits."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.interchange.traces.intake import Intake
from libs.interchange.traces.readers import read_traces
from services.cli.failure import CliFailure
from services.cli.flux import parts
from services.cli.flux.parts import span_parts, table_parts
from tests.services.planner.intake.exports import as_proto, shop_trace

SPANS = [{"traceId": f"{i:032x}", "id": f"{i + 1:016x}", "name": "GET /", "tags": {"a": "b"}} for i in range(500)]


def zipkin():
    return json.dumps(SPANS).encode()


def jaeger():
    traces = [{"processes": {}, "spans": [{"traceID": f"{i:x}", "spanID": f"{i + 1:x}"}]} for i in range(500)]
    return json.dumps({"data": traces}).encode()


def lines():
    return b"".join(json.dumps(shop_trace(i)).encode() + b"\n" for i in range(100))


def messages():
    found = [as_proto(shop_trace(i)) for i in range(100)]
    return b"".join(len(one).to_bytes(4, "big") + one for one in found)


def table():
    header = "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano"
    return "\n".join([header, *(f"{i:032x},{i + 1:016x},root,a-b-c,GET,0,5" for i in range(500))]).encode()


FILES = {"t.zipkin.json": zipkin, "t.jaeger.json": jaeger, "t.jsonl": lines, "t.pb": messages, "t.csv": table}


def ids(folder, contents):
    found = []
    for number, (name, content) in enumerate(contents):
        path = folder / f"{number}-{name}"
        path.write_bytes(content)
        intake = Intake(gateways={})
        for spans in read_traces(path, intake):
            found += spans.span.tolist()
        assert intake.malformed == 0
    return found


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_spans_of_all_parts_are_those_of_the_file(tmp_path, monkeypatch, name, packed):
    content = FILES[name]()
    file = tmp_path / (name + ".gz" * packed)
    file.write_bytes(gzip.compress(content) if packed else content)
    assert list(span_parts(file)) == [(file.name, file.read_bytes())]
    monkeypatch.setattr(parts, "LINES_BYTES_MAX", 8000)
    monkeypatch.setattr(parts, "OBJECTS_MAX", 300)
    several = list(span_parts(file))
    assert len(several) > 3
    assert ids(tmp_path, several) == ids(tmp_path, [(file.name, file.read_bytes())])
    for _, part in several:
        unpacked = gzip.decompress(part)
        assert parts._objects(unpacked) <= 302 if name.endswith(".json") else len(unpacked) <= 8200


def test_rows_of_all_parts_are_those_of_the_table(tmp_path, monkeypatch):
    rows = {"minute": list(range(1000)), "service": ["a"] * 1000}
    pq.write_table(pa.table(rows), tmp_path / "usage.parquet")
    (tmp_path / "usage.csv").write_text("minute,service\n" + "".join(f"{i},a\n" for i in range(1000)))
    assert list(table_parts(tmp_path / "usage.csv")) == [(tmp_path / "usage.csv").read_bytes()]
    assert list(table_parts(tmp_path / "usage.parquet")) == [(tmp_path / "usage.parquet").read_bytes()]
    monkeypatch.setattr(parts, "TABLE_BYTES_MAX", 1000)
    monkeypatch.setattr(parts, "TABLE_ROWS_MAX", 300)
    csvs = list(table_parts(tmp_path / "usage.csv"))
    assert len(csvs) > 5
    assert [int(row["minute"]) for one in csvs for row in csv.DictReader(io.StringIO(one.decode()))] == rows["minute"]
    parquets = list(table_parts(tmp_path / "usage.parquet"))
    assert len(parquets) == 4
    assert [n for one in parquets for n in pq.read_table(io.BytesIO(one))["minute"].to_pylist()] == rows["minute"]


def test_what_is_damaged_is_said(tmp_path, monkeypatch):
    (tmp_path / "t.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(CliFailure, match=r"t\.csv\.gz"):
        list(span_parts(tmp_path / "t.csv.gz"))
    monkeypatch.setattr(parts, "OBJECTS_MAX", 0)
    (tmp_path / "t.jaeger.json").write_text("{}")
    with pytest.raises(CliFailure, match="no list of spans"):
        list(span_parts(tmp_path / "t.jaeger.json"))

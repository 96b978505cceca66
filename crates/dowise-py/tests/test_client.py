"""Clients of a running service: same ids get same answers, refusals say why, lost answers are asked for again."""

import asyncio
import http.server
import json
import re
import threading
from pathlib import Path

import pytest
from service import replayed, served

import dowise


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(tmp_path_factory.mktemp("service")) as process:
        yield process


@pytest.fixture
def client(service):
    with dowise.Client(service.url, "treatment", patience=5) as made:
        yield made


def some_state(client):
    return {factor["name"]: factor["values"][0] for factor in client.status()["names"]["state"]}


def some_keys(client):
    return {key["name"]: key["values"][0] for key in client.status()["names"]["keys"]}


def test_the_same_event_gets_the_same_answer_and_another_body_is_refused(client):
    first = client.decide(some_state(client), episode_id="ann", event_id="ann-1")
    assert client.decide(some_state(client), episode_id="ann", event_id="ann-1") == first
    assert 0 < first["propensity"] <= 1
    with pytest.raises(dowise.ServiceError, match="another body") as refused:
        client.decide(some_state(client), episode_id="bob", event_id="ann-1")
    assert refused.value.status == 409


def test_what_is_observed_is_learned_and_explained(client):
    decision = client.decide(some_state(client), episode_id="carl")
    given = client.observe(decision["event_id"], keys=some_keys(client), next_state=some_state(client), done=True)
    assert given["status"] == "accepted"
    assert client.explain(decision["event_id"])["answer"]["intervention"] == decision["intervention"]
    many = client.observe_many([{"event_id": "not yet decided", "keys": some_keys(client)}, {"event_id": 7}])
    assert [one["status"] for one in many] == [200, 422]
    assert client.export().splitlines()[0].startswith("episode,stage")
    assert client.delete_episode("carl")["status"] == "forgotten"


def test_refusals_name_the_field(client):
    with pytest.raises(dowise.ServiceError, match="state") as refused:
        client.decide({"mood": "low"}, episode_id="dora")
    assert refused.value.status == 422
    assert refused.value.problem["errors"]
    with pytest.raises(ValueError, match="an observation has no key;"):
        client.observe_many([{"event_id": "a", "key": {}}])
    with pytest.raises(dowise.ServiceError, match="no world"), dowise.Client(client_url(client), "elsewhere") as other:
        other.status()


def client_url(client):
    return f"http://{client._host}:{client._port}"


def test_modes_are_switched_and_policies_promoted(client):
    assert client.mode() == "online"
    assert client.set_mode("stop")["mode"] == "stop"
    assert client.decide(some_state(client), episode_id="eve")["why"] == "baseline"
    client.set_mode("online")
    assert client.promote("latest")["pinned"] is False
    assert client.what_if(some_state(client))["best"]["expected_value"] is not None


def test_many_at_once_are_one_decision_each(service, client):
    state = some_state(client)

    async def ask():
        async with dowise.AsyncClient(service.url, "treatment", connections=16) as many:
            same = [many.decide(state, episode_id="fay", event_id="fay-1") for _ in range(32)]
            return await asyncio.gather(*same)

    answers = asyncio.run(ask())
    assert all(answer == answers[0] for answer in answers)


def test_a_request_that_got_no_answer_is_sent_again_with_the_same_ids():
    bodies = []

    class Flaky(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            if len(bodies) == 1:
                self.close_connection = True  # no answer at all
                return
            status = 503 if len(bodies) == 2 else 200
            said = json.dumps({"detail": "busy"} if status == 503 else {"why": "exploit"}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with dowise.Client(f"http://127.0.0.1:{server.server_port}", "w") as client:
        assert client.decide({"a": "b"}, episode_id="gus")["why"] == "exploit"
    server.shutdown()
    assert len(bodies) == 3 and len(set(bodies)) == 1


def test_bad_addresses_and_nobody_there_are_said():
    with pytest.raises(ValueError, match="looks like http://"):
        dowise.Client("127.0.0.1:8080", "w")
    with (
        pytest.raises(dowise.ServiceError, match="does not answer"),
        dowise.Client("http://127.0.0.1:1", "w", patience=0) as nobody,
    ):
        nobody.status()


def test_the_log_of_all_of_this_can_be_replayed(tmp_path):
    with served(tmp_path) as process, dowise.Client(process.url, "treatment") as client:
        for k in range(5):
            client.decide(some_state(client), episode_id=str(k))
    assert "5 decisions" in replayed(tmp_path / "store")


def test_the_lines_of_the_docs_run(tmp_path):
    docs = (Path(__file__).parents[3] / "docs" / "reference" / "service.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", docs, re.DOTALL)
    with served(tmp_path, world="campaign") as process:
        exec(block.replace("http://127.0.0.1:8080", process.url), {})

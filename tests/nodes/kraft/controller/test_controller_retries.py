"""Every forwarded write is done once, whatever becomes of its answers (B.9.4, A.7.17)."""

from __future__ import annotations

import pytest
from admin_asks import (
    APPEND,
    ROOT,
    SECURED,
    SET,
    acl_filter,
    ask_as,
    change,
    create_acls,
    creation,
    delete_acls,
    grow,
    replace_all,
)
from controller_harness import Harness

from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.records import RequestRecord

WRITES = {
    "grow": grow(("t", 3), ("missing", 3)),
    "change": change("t", ("cleanup.policy", APPEND, "delete")),
    "replace": replace_all("t", {"segment.bytes": "19"}),
    "create-acls": create_acls(creation("b"), creation("b", who="nobody")),
    "delete-acls": delete_acls(acl_filter("a")),
}
ID = b"0123456789abcdef"


@pytest.fixture
def harness():
    harness = Harness(authorizer=SECURED).claim()
    harness.activate(4, 5, 6)
    harness.create("t")
    ask_as(harness, ROOT, create_acls(creation("a")))
    return harness


@pytest.mark.parametrize("name", WRITES)
def test_a_retry_is_reported_what_the_first_attempt_did(harness, name):
    """B.9.4: the request's record is the last of its batch; also after a failover."""
    request = WRITES[name]
    first = ask_as(harness, ROOT, request, ID)
    assert 0 in set(codes(first))
    assert isinstance(harness.records()[-1], RequestRecord)
    end = len(harness.log)
    assert ask_as(harness, ROOT, request, ID) == first
    assert len(harness.log) == end
    harness.fail_over()
    end = len(harness.log)
    assert ask_as(harness, ROOT, request, ID) == first
    assert len(harness.log) == end


@pytest.mark.parametrize("name", WRITES)
def test_a_leader_that_falls_with_the_records_does_not_know(harness, name):
    """A.7.17: 7 for what was accepted, 41 for what would have been refused, in its place."""
    harness.settle = False
    ask_as(harness, ROOT, WRITES[name], ID)
    token = harness.token
    harness.fail_over()
    lost = set(codes(harness.answers[token])) - {0}
    assert 7 in lost
    assert lost <= {7, 41}


@pytest.mark.parametrize("name", WRITES)
def test_an_inactive_controller_says_so_in_each_shape(name):
    """A.7.17: nothing was appended: 41 for each item."""
    harness = Harness(authorizer=SECURED)
    response = ask_as(harness, ROOT, WRITES[name], ID)
    assert set(codes(response)) == {41}


# --- what an answer says of the log -------------------------------------------------------


@pytest.mark.parametrize("name", WRITES)
def test_an_answer_tells_where_the_log_has_what_was_done(harness, name):
    """A retry's, too: the end as it is by then, which the first attempt's records are below."""
    request = WRITES[name]
    ask_as(harness, ROOT, request, ID)
    assert harness.ends[harness.token] == len(harness.log)
    recorded = len(harness.log)
    harness.fail_over()
    ask_as(harness, ROOT, request, ID)
    assert recorded <= harness.ends[harness.token] <= len(harness.log)


def test_an_answer_to_what_changed_nothing_says_so(harness):
    """A success may: the value is what it was. So do a refusal, and who leads no longer."""
    same = change("t", ("segment.bytes", SET, "1048576"))
    ask_as(harness, ROOT, same)
    assert harness.ends[harness.token] == len(harness.log)
    assert set(codes(ask_as(harness, ROOT, same, ID))) == {0}
    assert harness.ends[harness.token] == 0
    assert 0 not in set(codes(ask_as(harness, ROOT, grow(("missing", 3)))))
    assert harness.ends[harness.token] == 0
    harness.settle = False
    ask_as(harness, ROOT, grow(("t", 3)))
    harness.fail_over()
    assert harness.ends[harness.token] == 0

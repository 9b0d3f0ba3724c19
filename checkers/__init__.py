"""Properties: a checker is one file with one name, which its entry point and its test have, too.

A checker that judges whole runs is a rule and a class (`one_leader_per_epoch` is a short one):

    def one_vote(events: RunEvents) -> Outcome: ...  # pure: `events.of(Voted)`, operations, ...

    class OneVote(RunChecker):
        name = "one-vote"
        summary = "What it proves, in a sentence"
        requires = evidence_of(Voted)  # without these it is NOT APPLICABLE
        check_run = RunCheck(one_vote, evidence=(Booted, Voted), fs=(), nemesis=False)

Rules read typed evidence (`framework.evidence`, docs/evidence.md) and match on its classes; they
know no event, record, code, role or port of any system. Where a fact is missing there, the kind
gets a field, and the system's adapter fills it. Times of different nodes, and of a node and the
harness, are compared by `framework.evidence.clocks` alone. Folds that several rules share are in
`folds/`, by what they are about.

Its test is tests/checkers/test_<name>.py, with `clean()` and `PLANTED`: a table of its violations,
each of which has to be INVALID. Stories there are told in the Python node's events, which its
adapter translates (`Story.run_events`).
"""

"""A digest that follows a replay."""

from test_replay import cluster

from checkers.folds.metadata_log.committed_log import known_log
from checkers.folds.replayed.metadata_digest import Digest, digest
from checkers.folds.replayed.replay import states
from nodes.kraft.adapter.image_form import IMAGE_FORM


def test_digest_follows_what_is_touched_and_is_that_of_the_whole() -> None:
    """Of a state that changes at each record, as of each by itself."""
    story = cluster()
    story.config("retention.ms", "1")
    story.record("FeatureLevelRecord", name="f", feature_level=1)
    story.record("RequestRecord", request_id="a", answer="00ff")
    story.record("ProducerIdsRecord", broker_id=4, broker_epoch=0, next_producer_id=1_000)
    story.record("FeatureLevelRecord", name="f", feature_level=0)
    story.drop()
    log = known_log(story.run_events())
    ends = range(1, len(log.records) + 1)
    following = Digest(IMAGE_FORM)
    counts = []
    for end, state in states(log, ends, IMAGE_FORM):
        made = following.of(state)
        assert not state.touched
        ((_, alone),) = states(log, [end], IMAGE_FORM)
        assert made == digest(alone, IMAGE_FORM)
        counts.append(following.entities)
    assert counts == [1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 8, 8, 4]

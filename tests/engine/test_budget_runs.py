from tests.engine.rows_budgets import many_runs


def test_random_runs_keep_their_limits_and_use_them() -> None:
    seen = many_runs(150)
    assert seen.wrong == []
    # The runs reach what they are about.
    assert seen.turned_away > 1000
    assert seen.failed_calls > 300
    assert seen.judge_calls > 500
    assert seen.most_in_flight >= 40
    assert seen.ended["budget"] > 300
    assert seen.ended["done"] > 50

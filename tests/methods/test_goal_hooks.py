"""A goal on top of every method: multipliers, the correction of the reward, and what stays as it was."""

import dataclasses
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bisimulator
from bisimulator import registry
from bisimulator.goals import DEMANDS, Goal, GoalConfig, Moments
from bisimulator.methods.goal_hooks import Grouped, with_goal
from bisimulator.methods.hooks import LearnedMethod, Plain, standardise
from bisimulator.solvers import trainer
from tests.methods.batches import group_batch, random_batch
from tests.small import HORIZON, POPULATION, SEEDS, tiny

M = Moments()
LEARNED = [
    name for name in registry.names("method") if isinstance(registry.lookup("method", name), LearnedMethod)
]
ALL = " ".join(f"{name}=0.3" for name in DEMANDS)
ENV = bisimulator.make("lending", population=10, horizon=100)
BLIND = {"lives": True, "streams": True, "group_blind": True}


def hooks(goal, env=ENV, **config):
    return with_goal(Goal.parse(goal), env, GoalConfig(**config))(Plain())


@cache
def lending(groups):
    return bisimulator.make("lending", groups=groups, population=10, horizon=100)


def start(method, env=ENV):
    return method.init(jax.random.key(0), env if method.lives is None else env.life(), 3)


def batch_with(accepted, groups=2, seed=0, **other):
    """Decisions that all accept or all reject."""
    batch = random_batch(seed, groups=groups, ends=0.3)
    accepted = jnp.broadcast_to(jnp.asarray(accepted), batch.accepted.shape)
    return dataclasses.replace(batch, accepted=accepted, **other)


def with_multipliers(state, multipliers):
    return dataclasses.replace(state, control=dataclasses.replace(state.control, multipliers=multipliers))


def correction(method, state, batch):
    return np.asarray(method.reward(state, batch, ()) - batch.reward)


# What stays of the method underneath.


@pytest.mark.parametrize("name", LEARNED)
def test_every_hook_of_the_method_underneath_stays_in_force(name):
    entry = registry.lookup("method", name)
    inner = entry.build(tiny(entry.config), ENV)
    method = with_goal(Goal.parse(ALL), ENV)(inner)
    assert method.used_hooks() == inner.used_hooks() | {"measure", "reward"}
    assert method.num_streams(ENV) == inner.num_streams(ENV)
    assert method.adapt_at(40) == inner.adapt_at(40)
    batch = dataclasses.replace(
        random_batch(1),
        **{field: jnp.zeros((12, 3, ENV.observation_size)) for field in ("obs", "next_obs", "next_self_obs")},
    )

    @jax.jit
    def both(batch):
        state, extras, *results = every_hook(method, batch)
        inner_state, inner_extras, *inner_results = every_hook(inner, batch)
        # without multipliers, the reward is that of the method underneath
        free = with_multipliers(state, tuple(jnp.zeros_like(m) for m in state.control.multipliers))
        paid, inner_paid = method.reward(free, batch, extras), inner.reward(inner_state, batch, extras)
        return (
            (state.inner, extras, results, paid),
            (inner_state, inner_extras, inner_results, inner_paid),
            method.describe(state),
            inner.describe(inner_state),
        )

    got, expected, described, inner_described = both(batch)
    assert_same(got, expected)
    for key, value in inner_described.items():
        assert_same(described[key], value)
    assert {f"{what}/{demand}" for what in ("multiplier", "slack") for demand in DEMANDS} <= set(described)


def every_hook(method, batch):
    """State and extras after learning, streams, advantages, objective and observation dynamics."""
    state = method.init(jax.random.key(0), ENV, 3)
    state, extras = method.learn(jax.random.key(2), method.measure(state, batch), batch)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), extras)
    advantages = jax.random.normal(jax.random.key(3), (36, 1 + method.num_streams(ENV)))
    advantage = method.advantage(state, advantages, flat)
    objective = method.objective(state, jnp.linspace(0.5, 1.5, 36), advantage, 0.2)
    omega = method.observe_params(state, ENV.params).omega
    return state, extras, method.streams(state, batch), advantage, objective, omega


def assert_same(got, expected):
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def tiny_solver(name, env, goal, updates=4):
    entry = registry.lookup("method", name)
    config = tiny(trainer.SOLVERS[entry.solver][1]())
    wrap = with_goal(Goal.parse(goal), env)
    return trainer.make_solver(entry, env, updates * config.batch, config, tiny(entry.config), wrap=wrap)


FIRST = {("ppo", "life"), ("dqn", "life"), ("elbert", "queue"), ("ppo-bisimulator", "life")}
PAIRS = [(name, view) for name in LEARNED for view in ("queue", "life")]


@pytest.mark.parametrize(
    ("name", "view"),
    [pair if pair in FIRST else pytest.param(*pair, marks=pytest.mark.long) for pair in PAIRS],
)
def test_an_update_preserves_all_shapes(name, view):
    """The update is only traced."""
    queue = bisimulator.make("lending-10-groups", population=POPULATION, horizon=HORIZON)
    env = queue.in_view(view)
    solver = tiny_solver(name, env, ALL)
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), len(SEEDS)))
    before = jax.eval_shape(lambda keys: solver.init(keys, env), keys)
    after, _ = jax.eval_shape(lambda t: solver.update(t, env.scenario, env.params), before)
    assert shapes(before) == shapes(after)
    if solver.method.adapt_at(solver.updates):
        # adapt plays whole episodes, so it always gets the queue
        adapt = partial(trainer._adaptation, solver, queue.scenario, queue.params, horizon=HORIZON)
        assert shapes(jax.eval_shape(adapt, before)) == shapes(before)


@pytest.mark.parametrize("name", ["ppo-bisimulator", "dqn"])
def test_an_update_preserves_all_shapes_where_there_are_no_lives(name):
    env = bisimulator.make("college", population=POPULATION, horizon=HORIZON)
    solver = tiny_solver(name, env, "min-recall=0.9 return-gap=0.1")
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), len(SEEDS)))
    before = jax.eval_shape(lambda keys: solver.init(keys, env), keys)
    after, _ = jax.eval_shape(lambda t: solver.update(t, env.scenario, env.params), before)
    assert shapes(before) == shapes(after)


def shapes(tree):
    return jax.tree.map(lambda x: (x.shape, x.dtype), tree)


def test_a_solver_still_refuses_hooks_that_it_would_ignore():
    dqn_elbert = dataclasses.replace(registry.lookup("method", "elbert"), solver="dqn")
    config = tiny(trainer.SOLVERS["dqn"][1]())
    wrap = with_goal(Goal.parse("min-recall=0.9"), ENV)
    with pytest.raises(ValueError, match=r"DQN does not call .*advantage"):
        trainer.make_solver(dqn_elbert, ENV, 4 * config.batch, config, wrap=wrap)


def test_equal_goals_share_their_compiled_program():
    first, again, other = (hooks(goal) for goal in ("min-recall=0.9", "min-recall=0.90", "min-recall=0.8"))
    assert first == again
    assert hash(first) == hash(again)
    assert first != other


# The multipliers.


def test_a_gap_reacts_less_because_both_of_its_ends_move_and_are_noisy():
    """The second group is rejected, so both demands are violated by more than the largest violation that counts."""
    batch = random_batch(0)
    batch = dataclasses.replace(batch, accepted=batch.group == 0)
    logs = []
    for goal in ("min-approval=1", "approval-gap=0"):
        method = hooks(goal, eta=1e-9)
        state = jax.jit(lambda batch, method=method: method.measure(start(method), batch))(batch)
        logs.append(np.log1p(np.asarray(state.control.multipliers[0]).max()))
    assert logs[0] == pytest.approx(8**0.5 * logs[1], rel=1e-4)
    assert logs[1] > 0


def test_a_multiplier_follows_the_controller():
    """u <- max(0, u + eta v), lambda = clip(exp(u + k v) - 1), on clipped violations v of the newest decisions."""
    config = GoalConfig(
        window=50.0, recent=20.0, eta=0.5, proportional=2.0, largest_violation=0.3, max_multiplier=1.5
    )
    method = hooks("min-recall=0.9", **dataclasses.asdict(config))
    measure, describe = jax.jit(method.measure), jax.jit(method.describe)
    state, sums, recent, integral = start(method), np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2)
    assert not np.asarray(state.control.multipliers[0]).any()
    for seed in range(30):
        batch = random_batch(seed) if seed < 10 or seed > 20 else batch_with(True, seed=seed)
        state = measure(state, batch)
        group, qualified, accepted = (
            np.asarray(x).ravel() for x in (batch.group, batch.qualified, batch.accepted)
        )
        new = np.array(
            [
                [(accepted & qualified & (group == g)).sum(), (qualified & (group == g)).sum()]
                for g in range(2)
            ]
        )
        sums = np.exp(-len(group) / config.window) * sums + new
        recent = np.exp(-len(group) / config.recent) * recent + new
        slack = sums[:, 0] / sums[:, 1] - 0.9
        violation = 0.9 - recent[:, 0] / recent[:, 1]
        violation = np.clip(violation, -config.largest_violation, config.largest_violation)
        largest = np.log1p(config.max_multiplier)
        integral = np.clip(integral + config.eta * len(group) / 512 * violation, 0, largest)
        expected = np.expm1(integral + config.proportional * violation).clip(0, config.max_multiplier)
        np.testing.assert_allclose(state.control.integral[0], integral, atol=1e-5)
        np.testing.assert_allclose(state.control.multipliers[0], expected, atol=1e-5)
        np.testing.assert_allclose(describe(state)["slack/min-recall"], slack, atol=1e-5)


@pytest.mark.parametrize("name", ["min-recall", "min-approval", "recall-gap", "approval-gap", "benefit-gap"])
def test_multipliers_rise_while_a_demand_is_violated_and_fall_to_zero_when_it_is_met(name):
    method = hooks(
        f"{name}={0.9 if name.startswith('min') else 0.1}",
        window=100.0,
        recent=100.0,
        eta=5.0,
        proportional=10.0,
    )
    measure = jax.jit(method.measure)
    state, totals = start(method), []
    for seed in range(6):  # the second group is rejected
        batch = random_batch(seed)
        state = measure(state, dataclasses.replace(batch, accepted=batch.group == 0))
        totals.append(float(state.control.multipliers[0].sum()))
    assert totals[0] > 0
    assert (np.diff(totals) > 0).all()
    for seed in range(250):  # the slack is at most 0.1, so the integral falls more slowly than it rose
        state = measure(state, batch_with(True, seed=seed))
    assert not np.asarray(state.control.multipliers[0]).any()
    assert not np.asarray(state.control.integral[0]).any()
    assert not correction(method, state, random_batch(0)).any()


def test_only_the_group_that_misses_the_demand_is_paid():
    method = hooks("min-recall=0.9")
    batch = random_batch(0)
    state = method.measure(start(method), dataclasses.replace(batch, accepted=batch.group == 0))
    assert np.asarray(state.control.multipliers[0])[0] == 0
    assert np.asarray(state.control.multipliers[0])[1] > 0
    paid = correction(method, state, batch_with(True))
    group, qualified = np.asarray(batch.group), np.asarray(batch.qualified)
    assert not paid[group == 0].any()
    assert (paid[(group == 1) & qualified] > 0).all()
    assert not paid[(group == 1) & ~qualified].any()


def test_multipliers_have_a_maximum():
    method = hooks("min-recall=1", eta=100.0, proportional=100.0, max_multiplier=3.0)
    state = start(method)
    for seed in range(5):
        state = method.measure(state, batch_with(False, seed=seed))
    np.testing.assert_allclose(state.control.integral[0], np.log(4), rtol=1e-6)
    assert (np.asarray(state.control.multipliers[0]) == 3).all()


def test_a_group_of_which_nothing_is_known_has_no_multipliers_and_no_correction():
    env = lending(3)
    method = hooks(ALL, env)
    batch = random_batch(0, groups=2, ends=0.3)  # nobody of the third group applies
    batch = dataclasses.replace(batch, accepted=batch.group == 0)
    state = jax.jit(lambda batch: method.measure(start(method, env), batch))(batch)
    for demand, multipliers in zip(method.controller.goal.demands, state.control.multipliers, strict=True):
        if demand.per_group:
            assert multipliers[2] == 0
        else:
            pairs = np.asarray(multipliers).reshape(3, 3)
            assert not pairs[2].any()
            assert not pairs[:, 2].any()
    third = dataclasses.replace(batch, group=jnp.full(batch.group.shape, 2))
    assert not correction(method, state, third).any()


# Equally many lives of every group.


def test_lives_are_balanced_over_groups_unless_a_policy_that_does_not_see_them_has_no_weights():
    env = bisimulator.make("lending-us-2003")
    wrap = partial(with_goal, Goal.parse("min-recall=0.9"), env)
    unweighted = BLIND | {"streams": False}
    cases = (({"lives": True}, True), ({"lives": False}, False), (BLIND, True), (unweighted, False))
    for options, balanced in cases:
        method = wrap(**options)(Plain())
        probs = np.asarray(method.training_params(env.params).group_probs)
        np.testing.assert_allclose(probs, 1 / 4 if balanced else env.params.group_probs)
        assert ("training_params" in method.used_hooks()) == balanced
    assert not wrap(GoalConfig(balanced=False), lives=True)(Plain()).balanced


def test_prices_of_balanced_lives_are_those_of_lives_as_they_come():
    """A group that is met four times as often as it should has the price of its true share."""
    env = bisimulator.make("lending", group_probs=(0.8, 0.2), population=10, horizon=100)
    balanced = with_goal(Goal.parse("recall-gap=0.1"), env, lives=True)(Plain())
    plain = with_goal(Goal.parse("recall-gap=0.1"), env)(Plain())
    batch = random_batch(5, ends=0.3)
    sums = plain.measure(start(plain, env), batch).control.sums
    decided = np.asarray(sums[:, M.APPLIED])
    as_they_come = sums * (np.array([0.8, 0.2]) * decided.sum() / decided)[:, None]
    prices, multipliers = [], (jnp.array([0.0, 1.0, 0.0, 0.0]),)
    for method, moments in ((plain, as_they_come), (balanced, sums)):
        control = dataclasses.replace(
            start(method, env).control,
            sums=moments,
            squares=jnp.float32(1),
            multipliers=multipliers,
        )
        prices.append(np.asarray(method.controller.prices(control)))
    assert np.abs(prices[0]).max() > 0.01
    np.testing.assert_allclose(prices[1], prices[0], rtol=1e-5)


# The correction.


@pytest.mark.parametrize("goal", [ALL, "min-recall=0.9", "credit-gap=0.1"])
def test_streams_of_a_goal_add_up_to_the_correction(goal):
    """Priced, they are the correction; so are their advantages if nothing follows a decision and nothing is scaled."""
    reward_form = hooks(goal, window=100.0)
    method = with_goal(Goal.parse(goal), ENV, GoalConfig(window=100.0, balanced=False), **BLIND)(Plain())
    batch = random_batch(3, ends=0.3, size=ENV.observation_size)
    unequal = dataclasses.replace(batch, accepted=batch.group == 0)

    @jax.jit
    def computed(batch, unequal):
        state, extras = method.learn(jax.random.key(0), method.measure(start(method), unequal), batch)
        corrected, paid = reward_form.reward(state, batch, ()), method.reward(state, batch, extras)
        streams = method.streams(state, batch)
        flat = jnp.concatenate([batch.reward[..., None], streams], -1).reshape(-1, 1 + streams.shape[-1])
        of_flat = jax.tree.map(lambda x: x.reshape(len(flat), *x.shape[2:]), extras)
        advantage = method.advantage(state, flat, of_flat)
        prices = method.controller.prices(state.control)[batch.group]
        return corrected, paid, streams, prices, advantage, standardise(corrected.reshape(-1))

    corrected, paid, streams, prices, advantage, standardised = map(np.asarray, computed(batch, unequal))
    expected = corrected - np.asarray(batch.reward)
    assert np.abs(expected).max() > 0.01
    assert streams.shape[-1] == method.num_streams(ENV)
    np.testing.assert_allclose((prices * streams).sum(-1), expected, atol=1e-4)
    np.testing.assert_array_equal(paid, batch.reward)
    np.testing.assert_allclose(advantage, standardised, atol=1e-3)


def test_advantages_of_every_group_have_the_same_size_if_the_policy_sees_the_group():
    method = with_goal(Goal.parse("min-recall=0.9"), ENV, lives=True, streams=True)(Plain())
    batch = random_batch(3, ends=0.3, size=ENV.observation_size)
    state = with_multipliers(method.measure(start(method), batch), (jnp.array([0.0, 40.0]),))
    _, extras = method.learn(jax.random.key(0), state, batch)
    flat = jnp.concatenate([batch.reward[..., None], method.streams(state, batch)], -1)
    flat, extras = jax.tree.map(lambda x: x.reshape(batch.reward.size, *x.shape[2:]), (flat, extras))
    group = np.asarray(extras.group)
    sizes = [np.asarray(method.advantage(state, flat, extras))[group == g].std() for g in range(2)]
    assert 0.5 < sizes[0] / sizes[1] < 2
    blind = dataclasses.replace(method, group_blind=True)
    sizes = [np.asarray(blind.advantage(state, flat, extras))[group == g].std() for g in range(2)]
    assert sizes[0] / sizes[1] < 0.1


def test_a_policy_that_does_not_see_the_group_weighs_balanced_lives_by_the_sizes_of_groups():
    env = bisimulator.make("lending-us-2003")
    method = with_goal(Goal.parse("min-recall=0.9"), env, **BLIND)(Plain())
    group, gain = jnp.arange(40) % 4, jnp.where(jnp.arange(40) < 20, 1.0, -1.0)
    features = jnp.zeros((40, method.controller.num_features))
    extras = Grouped((), group)
    found = method.advantage(start(method, env), jnp.concatenate([gain[:, None], features], -1), extras)
    spans = np.array([np.ptp(np.asarray(found)[np.asarray(group) == g]) for g in range(4)])
    np.testing.assert_allclose(spans / spans.sum(), env.params.group_probs, rtol=1e-5)


@given(st.integers(0, 2**20), st.sampled_from([1, 3]), st.sampled_from(sorted(DEMANDS)), st.booleans())
def test_on_the_batch_that_defines_the_rates_the_correction_has_mean_zero(seed, groups, name, raise_only):
    env = lending(groups)
    demand = DEMANDS[name](0.3, raise_only=raise_only and DEMANDS[name](0.3).can_level_down)
    method = hooks(Goal((demand,)), env)
    batch = random_batch(seed, groups=groups, ends=0.3)
    state = method.measure(start(method, env), batch)
    multipliers = np.random.default_rng(seed).uniform(0, 3, state.control.multipliers[0].shape)
    state = with_multipliers(state, (jnp.asarray(multipliers, jnp.float32),))
    paid = correction(method, state, batch)
    for g in range(groups):
        of_group = paid[np.asarray(batch.group) == g]
        assert abs(of_group.sum()) <= 1e-4 * max(abs(of_group).sum(), 1)


@given(st.integers(0, 2**20), st.sampled_from(sorted(DEMANDS)))
def test_the_correction_is_the_derivative_of_the_slacks_by_the_decisions(seed, name):
    """How the weighted slacks change if a decision counts a little more, in units of groups, rewards and slacks."""
    method, demand = hooks(Goal((DEMANDS[name](0.3),))), DEMANDS[name](0.3)
    batch = random_batch(seed, ends=0.5)
    state = method.measure(start(method), batch)
    multipliers = np.random.default_rng(seed).uniform(0, 3, state.control.multipliers[0].shape)
    state = with_multipliers(state, (jnp.asarray(multipliers, jnp.float32),))
    sums = np.asarray(state.control.sums, np.float64)
    rates, known = demand.rates(sums, np), sums[:, demand.denominator] > 0
    cdf = rates.cumsum(1)[:, :-1]
    if name == "credit-gap" and abs(cdf[0] - cdf[1]).min() < 1e-3:
        return  # a kink: every number in between is a derivative
    reward = np.sqrt(np.mean(np.asarray(batch.reward, np.float64) ** 2))
    of_return = 10**0.5 * reward
    unit = {"credit-gap": 6 / 12**0.5, "return-gap": of_return, "min-return": of_return}.get(name, 1.0)
    of_group = np.bincount(np.asarray(batch.group).ravel(), minlength=2)
    weights = multipliers * (of_group if demand.per_group else np.minimum.outer(of_group, of_group).ravel())
    moments = np.asarray(method._moments(batch)[0], np.float64).reshape(36, -1)
    paid, step = correction(method, state, batch).ravel(), 1e-6

    def weighted(sums):
        return demand.slack(demand.rates(sums, np), known, np) @ weights * reward / unit

    for i, g in enumerate(np.asarray(batch.group).ravel()):
        change = np.zeros(sums.shape)
        change[g] = moments[i]
        if not known[g]:
            assert paid[i] == 0
            continue
        if not known.all() and not demand.per_group:
            continue  # pairs with an unknown group have no multiplier in training
        expected = (weighted(sums + step * change) - weighted(sums - step * change)) / (2 * step)
        assert paid[i] == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("name", sorted(DEMANDS))
def test_the_currency_of_rewards_does_not_matter(name):
    batch, paid = random_batch(0, ends=0.5), []
    batch = dataclasses.replace(batch, accepted=batch.accepted & (batch.group == 0))
    for factor in (1.0, 1000.0):  # levels that are not met
        level = {"min-recall": 0.95, "min-approval": 0.95, "min-return": 100.0 * factor}.get(name, 0.0)
        method = hooks(Goal((DEMANDS[name](level),)))
        scaled = dataclasses.replace(batch, reward=batch.reward * factor)
        paid.append(correction(method, method.measure(start(method), scaled), scaled) / factor)
    assert paid[0].any()
    np.testing.assert_allclose(paid[0], paid[1], rtol=1e-3, atol=1e-3)


def test_a_life_ends_at_the_score_after_the_decision():
    method, batch = hooks("credit-gap=1"), random_batch(0, ends=0.5)
    moments = np.asarray(method._moments(batch)[0])
    score = np.round(np.asarray(batch.next_self_obs)[..., 0] * 6).astype(int)
    ended = np.asarray(batch.terminated)
    np.testing.assert_array_equal(moments[..., M.FINAL :].sum(-1), ended)
    np.testing.assert_array_equal(moments[..., M.FINAL :].argmax(-1)[ended], score[ended])


def test_demands_add_up():
    batch = batch_with(jnp.arange(36).reshape(12, 3) % 3 == 0)
    both, *single = (hooks(g) for g in ("min-recall=0.9 approval-gap=0", "min-recall=0.9", "approval-gap=0"))
    states = [method.measure(start(method), batch) for method in (both, *single)]
    total, *each = (correction(m, s, batch) for m, s in zip((both, *single), states, strict=True))
    assert all(part.any() for part in each)
    np.testing.assert_allclose(total, sum(each), atol=1e-5)


def test_a_person_applies_as_often_as_horizon_and_population_say():
    assert hooks("return-gap=1").visits == 10
    assert hooks("return-gap=1", ENV.life()).visits == 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"window": 0}, "window must lie in"),
        ({"eta": -1}, "eta must lie in"),
        ({"proportional": -1}, "proportional must lie in"),
        ({"max_multiplier": -1}, "max_multiplier must lie in"),
        ({"eta": float("nan")}, "eta must be finite"),
    ],
)
def test_a_wrong_control_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        GoalConfig(**wrong)


# Decisions about all groups at once.


def with_supply(batch, supply):
    return dataclasses.replace(batch, tallies={**batch.tallies, "supply": supply})


def test_a_benefit_gap_pays_for_supplying_the_group_that_receives_less():
    env, horizon = bisimulator.make("infectious", horizon=12), 12
    method, batch = hooks("benefit-gap=0.05", env), group_batch(0, steps=horizon)
    scarce = {**batch.tallies, "supply": batch.tallies["supply"] * jnp.array([1.0, 0.0])[None, None]}
    batch = with_supply(batch, scarce["supply"])
    state = jax.jit(method.measure)(start(method, env), batch)
    reward = jax.jit(lambda supply: method.reward(state, with_supply(batch, supply), ()))
    supply, demand = (np.asarray(scarce[name]).sum((0, 1)) for name in ("supply", "demand"))
    rates = supply / (demand + 3)  # three environments with one episode each
    slack = method.describe(state)["slack/benefit-gap"].reshape(2, 2)
    np.testing.assert_allclose(slack[0, 1], 0.05 - (rates[0] - rates[1]), rtol=1e-5)
    paid = {}
    for group in (0, 1):
        one_more = scarce["supply"] + jnp.eye(2)[group][None, None]
        paid[group] = np.asarray(reward(one_more) - reward(scarce["supply"]))
    assert (paid[1] > 0).all()
    assert (paid[0] < 0).all()

"""PPO learns the known values and actions of the probes, calls a method's hooks as promised, and solves cart-pole."""

import dataclasses

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bisimulator.core import Env, make
from bisimulator.methods.hooks import Method, Plain, Transitions, standardise
from bisimulator.policies import make_mlp
from bisimulator.solvers import evaluator as evaluating
from bisimulator.solvers import trainer
from bisimulator.solvers.ppo import PPO, PPOConfig, shuffles
from tests import pendulum, probes

GAMMA = 0.9
CONFIG = PPOConfig(
    num_envs=4,
    rollout=8,
    minibatch=16,
    epochs=4,
    learning_rate=5e-3,
    gamma=GAMMA,
    entropy=0.001,
    hidden=(16,),
    input_scale=1.0,
)
UPDATES, SEEDS = 250, (0, 1)
SOLVER = PPO(CONFIG, Plain(), UPDATES)


def trained(solver, env, seeds=SEEDS):
    return probes.all_seeds(trainer.train(env, solver, seeds))[0]


def look(network, signals):
    """What every seed's network says of each signal: (S, signals, outputs)."""
    obs = jnp.stack([jnp.array([s, 1.0]) for s in signals])
    return np.asarray(jax.vmap(lambda n: n(obs))(network))


@pytest.mark.parametrize(
    "which",
    [
        probes.CONSTANT,
        probes.OBSERVATION,
        probes.ACTION,
        probes.MATCHING,
        probes.TWO_STEP,
        probes.TERMINATED,
        probes.TRUNCATED,
        probes.TURNS,
    ],
)
def test_values_and_actions_of_the_probes(which):
    """Values within 5% of their scale (the policy keeps a little entropy), actions the best with 95%."""
    theta = trained(SOLVER, probes.probe(which))
    known = probes.values(which, GAMMA)
    got = look(theta.critic, known)[..., 0]
    wanted = np.array([*known.values()])
    np.testing.assert_allclose(got, np.tile(wanted, (2, 1)), atol=0.05 * np.abs(wanted).max())
    for signal, action in probes.best_actions(which).items():
        chances = jax.nn.softmax(look(theta.actor, [signal])[:, 0])
        assert np.asarray(chances)[:, action].min() > 0.95


def test_real_actions_end_near_the_best_ones():
    config = dataclasses.replace(CONFIG, entropy=0.0, minibatch=32)
    env = Env("aim", probes.AIMING, probes.make_params(probe=probes.MATCHING))
    theta = trained(PPO(config, Plain(), UPDATES), env)
    wanted = np.array([[-0.5, 0.5], [0.5, -0.5]])
    np.testing.assert_allclose(look(theta.actor.mean, [-1.0, 1.0]), np.tile(wanted, (2, 1, 1)), atol=0.1)
    assert (theta.actor.log_sd < -1).all()  # it began at 0


def test_several_choices_at_once_end_at_the_best_ones():
    env = Env("choose", probes.CHOOSING, probes.make_params(probe=probes.MATCHING))
    theta = trained(PPO(CONFIG, Plain(), UPDATES), env)
    best = look(theta.actor, [-1.0, 1.0])
    np.testing.assert_array_equal(best, np.tile([[1, 1], [2, 0]], (2, 1, 1)))


def test_bootstrapping_through_the_same_person_values_what_a_decision_does_to_the_person():
    config = dataclasses.replace(CONFIG, bootstrap="same-person", visit_gamma=0.5)
    theta = trained(PPO(config, Plain(), UPDATES), probes.probe(probes.TURNS))
    known = {signal: max(pair) for signal, pair in probes.values_of_turns(0.5).items()}
    got = look(theta.critic, known)[..., 0]
    np.testing.assert_allclose(got, np.tile([*known.values()], (2, 1)), atol=0.1)
    chances = np.asarray(jax.nn.softmax(look(theta.actor, [0.0])[:, 0]))
    assert chances[:, 1].min() > 0.95


def test_a_critic_that_sees_the_clock_knows_how_much_is_still_to_come():
    """Each decision of a life pays 1 if everybody repays and is accepted, so the value is what is left of 10 visits."""
    env = make("lending", repayment=(1.0,) * 7, population=100, horizon=1000).in_view("life")
    config = dataclasses.replace(CONFIG, gamma=1.0, critic_clock=True, epochs=8, input_scale=4.0)
    theta = trained(PPO(config, Plain(), UPDATES), env)
    assert theta.actor.weights[0].shape[1] == env.observation_size
    person = env.scenario.observe(env.scenario.reset(jax.random.key(0), env.params), env.params)
    clocks = jnp.array([0.1, 0.5, 0.9])
    seen = jnp.concatenate([jnp.tile(person, (3, 1)), clocks[:, None]], -1)
    values = np.asarray(jax.vmap(lambda critic: critic(seen))(theta.critic))[..., 0]
    # this decision, and one per 100 steps that are left; the policy keeps a little entropy
    np.testing.assert_allclose(values, np.tile(1 + 10 * clocks, (len(SEEDS), 1)), atol=1.0)


def test_a_critic_cannot_see_a_clock_that_the_environment_does_not_have():
    solver = PPO(dataclasses.replace(CONFIG, critic_clock=True), Plain(), UPDATES)
    with pytest.raises(ValueError, match="how much of the episode is left, as lives do"):
        trainer.train(probes.probe(probes.CONSTANT), solver, SEEDS)


def test_a_seed_learns_the_same_whatever_the_other_seeds_are():
    env = probes.probe(probes.MATCHING)
    together, turned = trained(SOLVER, env, (0, 1)), trained(SOLVER, env, (1, 0))
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[0], b[1]), together, turned)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[1], b[0]), together, turned)
    assert (np.asarray(together.actor.weights[0][0]) != together.actor.weights[0][1]).any()


def test_the_learning_rate_falls_to_0_only_when_annealed():
    """optax's own count: after all updates the schedule stands at the end, one minibatch at a time."""
    steps = CONFIG.epochs * CONFIG.batch // CONFIG.minibatch
    theta, gradient = jnp.zeros(3), jnp.ones(3)
    for anneal, share in ((True, 0.25), (False, 1.0)):
        tool = PPO(dataclasses.replace(CONFIG, anneal=anneal), Plain(), updates=4).optimizer()
        state, update = tool.init(theta), jax.jit(tool.update)
        moves = []
        for _ in range(4 * steps):
            change, state = update(gradient, state, theta)
            moves.append(float(-change[0]))
        assert moves[0] == pytest.approx(CONFIG.learning_rate, rel=1e-3)
        # the last update of four runs at a quarter of the rate, and its minibatches all alike
        assert moves[-1] == pytest.approx(share * CONFIG.learning_rate, rel=1e-3)
        assert moves[-steps] == pytest.approx(moves[-1], rel=1e-3)


def test_logits_grow_by_the_factor_between_20_and_60_percent_of_the_training():
    """With a learning rate of almost 0 nothing else changes the actor."""
    config = dataclasses.replace(CONFIG, learning_rate=1e-30, sharpen=3.0)
    solver, env = PPO(config, Plain(), updates=10), probes.probe(probes.MATCHING)
    training = trainer.init(env, solver, (0,))[0]
    update = jax.jit(solver.update, static_argnums=1)
    before, factors = training.theta.actor, []
    for _ in range(10):
        training, _ = update(training, env.scenario, env.params)
        factors.append(float(training.theta.actor.weights[-1].sum() / before.weights[-1].sum()))
    np.testing.assert_allclose(factors, 3 ** np.array([0, 0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1]), rtol=1e-4)
    np.testing.assert_allclose(training.theta.actor.weights[0], before.weights[0], rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 6, 512, 513])
def test_shuffles_are_permutations_and_every_position_is_as_likely(size):
    count = 4000
    order = np.asarray(shuffles(jax.random.key(0), count, size))
    np.testing.assert_array_equal(np.sort(order), np.tile(np.arange(size), (count, 1)))
    seen = np.bincount(order[:, 0], minlength=size)
    assert scipy.stats.chisquare(seen).pvalue > 1e-3 if size > 1 else seen == count
    if size > 1:
        assert abs((order[:, 0] < order[:, -1]).mean() - 0.5) < 4 * 0.5 / count**0.5


@dataclasses.dataclass(frozen=True)
class Doubling(Method):
    """Doubles the reward after `learn` has said so, and watches two streams of its own."""

    def init(self, key, env, num_envs):
        return jnp.float32(0)

    def learn(self, key, state, batch):
        return jnp.float32(2), {"marks": batch.reward * 0 + 7}

    def reward(self, state, batch, extras):
        return state * batch.reward

    def num_streams(self, env):
        return 2

    def streams(self, state, batch):
        return jnp.stack([jnp.full_like(batch.reward, 3.0), -batch.reward], -1)

    def advantage(self, state, advantages, extras):
        # NaN spoils the training at once if anything but what `learn` returned arrives here
        fine = (extras["marks"] == 7).all() & (state == 2)
        return jnp.where(fine, standardise(advantages[:, 0]), jnp.nan)


def test_the_shaped_reward_and_every_stream_have_their_own_value_head():
    """MATCHING pays 1 at best: its doubled value is 2, the streams are worth 3 and -1."""
    theta = trained(PPO(CONFIG, Doubling(), UPDATES), probes.probe(probes.MATCHING))
    assert theta.critic.biases[-1].shape == (2, 3)
    got = look(theta.critic, (-1.0, 1.0))
    np.testing.assert_allclose(got, np.broadcast_to([2.0, 3.0, -1.0], (2, 2, 3)), atol=0.15)
    chances = np.asarray(jax.nn.softmax(look(theta.actor, (-1.0, 1.0))))
    assert chances[:, [0, 1], [0, 1]].min() > 0.95


class Recorder(Method):
    """Notes the shapes that each hook is called with; called while tracing, so nothing has to be compiled."""

    def __init__(self):
        self.seen = {}

    def init(self, key, env, num_envs):
        self.seen["init"] = (key.shape, type(env).__name__, num_envs)
        return jnp.zeros(5)

    def learn(self, key, state, batch):
        self.seen["learn"] = (key.shape, state.shape, batch.obs.shape, batch.action.shape)
        assert isinstance(batch, Transitions)
        return state, {"extra": batch.obs}

    def reward(self, state, batch, extras):
        self.seen["reward"] = (state.shape, batch.reward.shape, extras["extra"].shape)
        return batch.reward

    def num_streams(self, env):
        return 3

    def streams(self, state, batch):
        self.seen["streams"] = batch.reward.shape
        return jnp.zeros((*batch.reward.shape, 3))

    def advantage(self, state, advantages, extras):
        self.seen["advantage"] = (state.shape, advantages.shape, extras["extra"].shape)
        return advantages[:, 0]

    def objective(self, state, ratio, advantage, clip):
        self.seen["objective"] = (state.shape, ratio.shape, advantage.shape, clip)
        return ratio * advantage

    def observe_params(self, state, params):
        self.seen["observe_params"] = (state.shape, params.omega.shape)
        return params


def test_hooks_are_called_with_the_shapes_they_promise():
    method, env = Recorder(), probes.probe(probes.CONSTANT)
    solver = PPO(CONFIG, method, UPDATES)
    keys = jnp.stack([jax.random.key(s) for s in range(3)])
    training = jax.eval_shape(lambda: solver.init(keys, env))
    after, logs = jax.eval_shape(lambda t: solver.update(t, env.scenario, env.params), training)
    lead, size, mini = (CONFIG.rollout, CONFIG.num_envs), env.observation_size, CONFIG.minibatch
    assert method.seen == {
        "init": ((), "Env", CONFIG.num_envs),
        "observe_params": ((5,), (1, 1)),
        "learn": ((), (5,), (*lead, size), lead),
        "reward": ((5,), lead, (*lead, size)),
        "streams": lead,
        "advantage": ((5,), (mini, 4), (mini, size)),
        "objective": ((5,), (mini,), (mini,), CONFIG.clip),
    }
    assert training.method.shape == after.method.shape == (3, 5)
    assert logs["loss"].shape == (3,)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), training) == jax.tree.map(
        lambda x: (x.shape, x.dtype), after
    )


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("bootstrap", ["next", "same-person"])
def test_values_after_decisions_are_the_critics_wherever_they_count(bootstrap, truncated):
    """What follows a decision is what the next one sees, unless its episode has ended there."""
    rng = np.random.default_rng(0)
    seen = rng.random((6, 3, 2)).astype(np.float32)
    next_seen = np.concatenate([seen[1:], rng.random((1, 3, 2)).astype(np.float32)])
    if truncated:
        next_seen[2, 1] = 7.0  # the next decision is in a new episode
    if bootstrap == "same-person":
        next_seen = rng.random((6, 3, 2)).astype(np.float32)
    flags = np.zeros((6, 3), bool)
    flags[2, 1] = truncated
    solver = PPO(dataclasses.replace(CONFIG, bootstrap=bootstrap), Plain(), updates=4)
    critic = make_mlp(jax.random.key(0), 2, (8,), 1, 1.0)
    expected = critic(jnp.asarray(next_seen))
    found = jax.jit(lambda: solver._next_value(critic, critic(jnp.asarray(seen)), next_seen, flags))()
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_cart_pole_is_that_of_gymnasium():
    gym = gymnasium.make("CartPole-v1")
    gym.reset(seed=0)
    rng = np.random.default_rng(0)
    env = probes.cart_pole()
    step = jax.jit(env.step)
    ends = 0
    for _ in range(200):
        at = rng.uniform(-1, 1, 4) * [2.4, 1.0, 0.2, 1.0]
        gym.unwrapped.state = at
        action = int(rng.integers(2))
        obs, reward, terminated, _, _ = gym.unwrapped.step(action)
        gym.unwrapped.steps_beyond_terminated = None
        state = probes.CartState(jnp.asarray(at, jnp.float32), jnp.int32(0))
        after, now = step(jax.random.key(0), state, jnp.int32(action))
        np.testing.assert_allclose(after.at, obs, rtol=1e-4, atol=1e-5)
        assert (float(now.reward), bool(now.terminated)) == (reward, terminated)
        ends += terminated
    assert ends
    late = eqx.tree_at(lambda s: s.t, env.reset(jax.random.key(1)), jnp.int32(499))
    assert step(jax.random.key(0), late, jnp.int32(0))[1].truncated


@pytest.mark.long
def test_cart_pole_is_learned_as_well_as_stable_baselines_does():
    """The settings of rl-baselines3-zoo for both: 100,000 steps, the return of greedy episodes."""
    from stable_baselines3 import PPO as Theirs
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    steps = 100_000
    theirs = []
    for seed in range(3):
        model = Theirs(
            "MlpPolicy",
            make_vec_env("CartPole-v1", n_envs=8, seed=seed),
            n_steps=32,
            batch_size=256,
            n_epochs=20,
            learning_rate=lambda left: left * 1e-3,
            gamma=0.98,
            gae_lambda=0.8,
            ent_coef=0.0,
            seed=seed,
            device="cpu",
        ).learn(steps)
        theirs.append(
            evaluate_policy(model, make_vec_env("CartPole-v1", seed=100 + seed), n_eval_episodes=10)[0]
        )
    config = PPOConfig(
        num_envs=8,
        rollout=32,
        minibatch=256,
        epochs=20,
        learning_rate=1e-3,
        gamma=0.98,
        gae_lambda=0.8,
        entropy=0.0,
        hidden=(64, 64),
        input_scale=1.0,
    )
    env, seeds = probes.cart_pole(), tuple(range(5))
    solver = PPO(config, Plain(), steps // config.batch)
    outcome = evaluating.evaluate_training(env, solver, trainer.train(env, solver, seeds), seeds, episodes=10)
    ours = np.asarray(outcome.count("reward")).sum(-1).mean(1)
    assert ours.mean() >= np.mean(theirs) - 25  # 5% of the highest return there is, 500
    assert ours.max() == 500


def test_pendulum_is_that_of_gymnasium():
    gym = gymnasium.make("Pendulum-v1").unwrapped
    gym.reset(seed=0)
    env = pendulum.pendulum()
    state = pendulum.State(jnp.asarray(gym.state, jnp.float32), jnp.int32(0))
    move = jax.jit(env.scenario.step)
    for torque in np.random.default_rng(0).uniform(-3, 3, (50, 1)).astype(np.float32):
        obs, reward, *_ = gym.step(torque)
        state, out = move(jax.random.key(0), state, jnp.asarray(torque), env.params)
        np.testing.assert_allclose(np.asarray(out.obs)[[0, 2, 3]], obs, atol=1e-3)
        np.testing.assert_allclose(float(out.reward), reward, atol=1e-2)


@pytest.mark.long
def test_pendulum_is_learned_as_well_as_stable_baselines_does():
    """The settings of rl-baselines3-zoo for both, without its state-dependent exploration: 100,000 steps."""
    from stable_baselines3 import PPO as Theirs
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    steps, theirs = 100_000, []
    for seed in range(3):
        model = Theirs(
            "MlpPolicy",
            make_vec_env("Pendulum-v1", n_envs=4, seed=seed),
            n_steps=1024,
            learning_rate=1e-3,
            gamma=0.9,
            seed=seed,
            device="cpu",
        ).learn(steps)
        theirs.append(
            evaluate_policy(model, make_vec_env("Pendulum-v1", seed=100 + seed), n_eval_episodes=20)[0]
        )
    config = PPOConfig(
        num_envs=4,
        rollout=1024,
        minibatch=64,
        epochs=10,
        learning_rate=1e-3,
        gamma=0.9,
        entropy=0.0,
        hidden=(64, 64),
        input_scale=1.0,
        anneal=False,
        normalize_values=True,
    )
    env, seeds = pendulum.pendulum(), tuple(range(5))
    solver = PPO(config, Plain(), steps // config.batch)
    outcome = evaluating.evaluate_training(env, solver, trainer.train(env, solver, seeds), seeds, episodes=20)
    ours = np.asarray(outcome.count("reward")).sum(-1).mean(1)
    assert ours.mean() >= np.mean(theirs) - 50  # a random policy returns about -1200, the best about -150

"""PPO in one file, in the style of CleanRL, with two lines for the Bisimulator (marked).

    python examples/cleanrl_style.py [--total-timesteps 400000] [--plain]

Everything else is ordinary PPO in torch. Remove the two lines, or pass --plain, to train without the Bisimulator.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import bisimulator
from bisimulator.adapters import BisimulatorVectorRewardWrapper


@dataclasses.dataclass
class Args:
    env_id: str = "bisimulator:bisimulator/LendingLife-v0"  # an episode is one person's life
    seed: int = 1
    total_timesteps: int = 400_000
    learning_rate: float = 5e-5  # annealed to 0
    num_envs: int = 8
    num_steps: int = 64  # of each environment per update
    minibatches: int = 8
    update_epochs: int = 5
    gamma: float = 1.0  # lives are short
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    input_scale: float = 20.0  # observations in 0..1 are multiplied by this
    plain: bool = False  # train without the Bisimulator


def layer_init(inputs: int, outputs: int, std: float = 2**0.5) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self, inputs: int, actions: int, input_scale: float):
        super().__init__()
        self.input_scale = input_scale
        self.critic = nn.Sequential(layer_init(inputs, 256), nn.Tanh(), layer_init(256, 1, 1.0))
        self.actor = nn.Sequential(layer_init(inputs, 256), nn.Tanh(), layer_init(256, actions, 0.01))

    def value(self, obs: torch.Tensor) -> torch.Tensor:
        return self.critic(obs * self.input_scale).squeeze(-1)

    def policy(self, obs: torch.Tensor) -> Categorical:
        return Categorical(logits=self.actor(obs * self.input_scale))


def main(args: Args) -> Agent:
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    batch_size = args.num_envs * args.num_steps
    minibatch_size = batch_size // args.minibatches
    updates = args.total_timesteps // batch_size

    # "SameStep": no steps in between that only reset
    envs = gymnasium.make_vec(args.env_id, args.num_envs, "vector_entry_point", autoreset_mode="SameStep")
    if not args.plain:
        envs = BisimulatorVectorRewardWrapper(envs, seed=args.seed)  # bisimulator: first line
    inputs = int(np.prod(envs.single_observation_space.shape))
    agent = Agent(inputs, int(envs.single_action_space.n), args.input_scale)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    obs = torch.zeros((args.num_steps, args.num_envs, inputs))
    actions = torch.zeros((args.num_steps, args.num_envs))
    logprobs, rewards, dones, values = (torch.zeros((args.num_steps, args.num_envs)) for _ in range(4))
    start_time = time.time()
    next_obs, _ = envs.reset(seed=args.seed)
    next_obs, next_done = torch.tensor(next_obs), torch.zeros(args.num_envs)

    for update in range(updates):
        optimizer.param_groups[0]["lr"] = (1 - update / updates) * args.learning_rate

        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                policy = agent.policy(next_obs)
                actions[step] = action = policy.sample()
                logprobs[step], values[step] = policy.log_prob(action), agent.value(next_obs)
            observation, reward, terminated, truncated, _ = envs.step(action.numpy())
            rewards[step] = torch.tensor(reward)
            next_obs, next_done = torch.tensor(observation), torch.tensor(terminated | truncated).float()

        if not args.plain:
            envs.learn()  # bisimulator: second line

        with torch.no_grad():
            advantages, last = torch.zeros_like(rewards), torch.zeros(args.num_envs)
            next_value, not_done = agent.value(next_obs), 1 - next_done
            for t in reversed(range(args.num_steps)):
                delta = rewards[t] + args.gamma * next_value * not_done - values[t]
                advantages[t] = last = delta + args.gamma * args.gae_lambda * not_done * last
                next_value, not_done = values[t], 1 - dones[t]
            returns = advantages + values

        b_obs, b_actions, b_logprobs = obs.flatten(0, 1), actions.flatten(), logprobs.flatten()
        b_advantages, b_returns, b_values = advantages.flatten(), returns.flatten(), values.flatten()
        for _ in range(args.update_epochs):
            b_inds = rng.permutation(batch_size)
            for start in range(0, batch_size, minibatch_size):
                mb_inds = b_inds[start : start + minibatch_size]
                policy, value = agent.policy(b_obs[mb_inds]), agent.value(b_obs[mb_inds])
                ratio = (policy.log_prob(b_actions[mb_inds]) - b_logprobs[mb_inds]).exp()
                advantage = b_advantages[mb_inds]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = -torch.min(advantage * ratio, advantage * clipped).mean()
                v_clipped = b_values[mb_inds] + (value - b_values[mb_inds]).clamp(
                    -args.clip_coef, args.clip_coef
                )
                v_loss = torch.max(
                    (value - b_returns[mb_inds]) ** 2, (v_clipped - b_returns[mb_inds]) ** 2
                ).mean()
                loss = pg_loss - args.ent_coef * policy.entropy().mean() + args.vf_coef * 0.5 * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
    print(f"{updates * batch_size} steps, {updates * batch_size / (time.time() - start_time):.0f} per second")
    return agent


def evaluate(agent: Agent, **params: int) -> None:
    """Simulate the greedy policy and print its return and recalls."""

    def policy(obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return agent.policy(torch.tensor(np.asarray(obs))).probs.argmax(-1).numpy()

    env = bisimulator.make("lending", **params)
    result = bisimulator.evaluate(env, policy, episodes=2, seeds=2)
    for name in ("average_return", "recall_g1", "recall_g2"):
        print(f"{name}: {result.summary[name][0]:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for field in dataclasses.fields(Args):
        name = f"--{field.name.replace('_', '-')}"
        if field.name == "plain":
            parser.add_argument(name, action="store_true")
        else:
            parser.add_argument(name, type=type(field.default), default=field.default)
    torch.set_num_threads(1)
    evaluate(main(Args(**vars(parser.parse_args()))))

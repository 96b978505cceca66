"""What rlberry does with dowise's worlds, in an environment of its own; `test_peers.py` calls it and evaluators.

python rlberry_side.py ucbvi mdp.npz out.npz       # learns the MDP in arrays, stage by stage
python rlberry_side.py optql world.toml out.npz    # learns in dowise's environment, through Gymnasium
"""

import logging
import sys

import numpy as np
from rlberry.agents import OptQLAgent, UCBVIAgent
from rlberry.agents.dynprog.utils import backward_induction
from rlberry.envs import gym_make
from rlberry.envs.finite import FiniteMDP


class Recorded(UCBVIAgent):
    """UCBVI that keeps what it saw and the policy of every episode; it acts as it does, or at random."""

    at_random = False

    def reset(self, **kwargs):
        super().reset(**kwargs)
        self.steps, self.policies = [], []

    def _run_episode(self):
        self.policies.append(self.Q.argmax(axis=2))
        return super()._run_episode()

    def _get_action(self, state, hh=0):
        return self.rng.integers(self.env.action_space.n) if self.at_random else super()._get_action(state, hh)

    def _update(self, state, action, next_state, reward, hh):
        self.steps.append((hh, state, action, next_state))
        super()._update(state, action, next_state, reward, hh)


def ucbvi(source, out):
    mdp = np.load(source)
    P, R, horizon = mdp["P"], mdp["R"], int(mdp["horizon"])

    def played(seed, at_random):
        env = FiniteMDP(R, P, initial_state_distribution=int(mdp["start"]))
        # Counts for each stage: with shared ones only the bonus of the visited stage would be brought up to date.
        agent = Recorded(env, gamma=1.0, horizon=horizon, stage_dependent=True, seeder=int(seed))
        agent.at_random = at_random
        agent.fit(budget=int(mdp["episodes"]))
        return agent

    watched = played(0, at_random=True)
    np.savez(
        out,
        best=backward_induction(R, P, horizon)[1],
        steps=np.array(watched.steps),
        values=watched.V,
        visits=watched.N_sa,
        policies=np.array([played(seed, at_random=False).policies for seed in mdp["seeds"]]),
    )


def optql(world, out):
    import gymnasium

    import dowise.gym  # noqa: F401 (registers the environments)

    horizon = gymnasium.make("dowise/World-v0", world=world).unwrapped.world.horizon
    policies = []
    for seed in range(3):
        # rlberry's own way to gymnasium.make; its agents want its own kind of spaces.
        env = gym_make("dowise/World-v0", wrap_spaces=True, world=world, observations="state", actions="number")
        agent = OptQLAgent(env, gamma=1.0, horizon=horizon, bonus_scale_factor=0.1, seeder=seed)
        agent.fit(budget=3000)
        policies.append(agent.Q_bar.argmax(axis=2))
    np.savez(out, policies=np.array(policies), gymnasium=gymnasium.__version__)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    {"ucbvi": ucbvi, "optql": optql}[sys.argv[1]](*sys.argv[2:])

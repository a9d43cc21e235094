/**
 * Host ports as part of what the agent keeps the kernel equal to. A change waits for the events of its pod, which
 * follow at once, so that ports and rules are one commit: each would have to wait for its place in the budget.
 */
import type { Agent } from '../../agent/agent.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import type { HostPortMapping } from '../../model/hostport.ts';
import { hostPortEvents } from '../../model/hostportevents.ts';
import type { HostPortState } from '../../network/hostports/hostports.ts';

export class AgentHostPorts implements HostPortState {
  readonly programmed: () => Promise<void>;
  readonly #agent: Pick<Agent, 'note' | 'cluster'>;
  #held: ClusterEvent[] = [];

  /** `programmed` settles when the kernel holds what was noted, and throws where that takes too long. */
  constructor(agent: Pick<Agent, 'note' | 'cluster'>, programmed: () => Promise<void>) {
    this.#agent = agent;
    this.programmed = programmed;
  }

  mappings(): readonly HostPortMapping[] {
    const { hostPorts = new Map<string, HostPortMapping>() } = this.#agent.cluster;
    if (this.#held.length === 0) return [...hostPorts.values()];
    const state = new ClusterState();
    for (const [key, value] of hostPorts) state.hostPorts.set(key, value);
    for (const event of this.#held) state.apply(event);
    return [...state.hostPorts.values()];
  }

  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void {
    this.#held.push(...hostPortEvents(remove, add));
  }

  publish(how: { readonly urgent: boolean }): void {
    this.note([], how);
  }

  /** Events of pods, and what waits for them. */
  note(events: readonly ClusterEvent[], how: { readonly urgent: boolean }): void {
    const held = this.#held;
    this.#held = [];
    this.#agent.note([...held, ...events], how);
  }
}

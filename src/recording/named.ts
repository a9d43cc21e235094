/** Flows to addresses that a pod was told by DNS, with the names: policies may allow by them. */
import type { RecordedFlow } from './recording.ts';

/** `told` by pod and address: `shop/web 192.0.2.7`. */
export function namesBeside(
  flows: readonly RecordedFlow[],
  told: ReadonlyMap<string, ReadonlySet<string>>,
): RecordedFlow[] {
  return flows.map(flow => {
    const names = flow.from.pod && told.get(`${flow.from.pod.key} ${flow.to.address}`);
    return names === undefined ? flow : { ...flow, names: [...names].sort().slice(0, MOST_NAMES) };
  });
}

const MOST_NAMES = 20;

/** Addresses of a node of `--cni sluice`: what is given out is what has a route of protocol 115. */
import { within } from './cluster.ts';

const OTHERS = 'metric 7'; // ours: no pod's route has a metric

/** Leaves no IPv4 address of the node's pod network but one, for pods to come. */
export async function occupy(node: string, but: string): Promise<void> {
  const net = but.split('.').slice(0, 3).join('.');
  await within(
    node,
    'sh',
    '-c',
    `given=" $(ip route show proto 115 | cut -d ' ' -f 1 | tr '\\n' ' ') "
     for i in $(seq 1 254); do
       case "$given ${but} " in
         *" ${net}.$i "*) ;;
         *) echo "route add ${net}.$i dev lo proto 115 ${OTHERS}" ;;
       esac
     done | ip -batch -`,
  );
}

export async function vacate(node: string): Promise<void> {
  await within(node, 'sh', '-c', `ip route flush proto 115 ${OTHERS}`);
}

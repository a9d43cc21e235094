import { expect, test } from 'vitest';
import { parseAddress } from '../model/address.ts';
import { ClusterState, type Node, type PodPort } from '../model/cluster.ts';
import { formatRuleset } from '../nft/format/format.ts';
import { plan } from '../nft/plan/plan.ts';
import { compile } from './compile.ts';
import { Incremental } from './live/incremental.ts';
import { podPortsIn } from './portsets.ts';

const at = (text: string) => parseAddress(text)!;

const WEB: PodPort = {
  index: 7,
  mac: '0a:00:00:00:00:07',
  addresses: ['10.0.1.7', 'fd00::7', 'fe80::7'].map(at),
};
const DB: PodPort = { index: 9, mac: '0a:00:00:00:00:09', addresses: [at('10.0.1.9')] };
const HIDDEN: PodPort = { index: 11, mac: '0a:00:00:00:00:0b', addresses: [] };

function node(podPorts: readonly PodPort[] | undefined): Node {
  const links = { uplinks: [2], podBridges: [3], ...(podPorts && { podPorts }) };
  return { name: 'n1', labels: {}, addresses: [], podCidrs: ['10.0.1.0/24'], links };
}

function compiled(podPorts: readonly PodPort[] | undefined) {
  const state = new ClusterState();
  state.apply({ type: 'node', key: 'n1', value: node(podPorts) });
  return compile(state, 'n1');
}

test('a port lets its pod send, by its own hardware address, from its addresses and from none', () => {
  const bridge = compiled([WEB, HIDDEN]).tables.get('bridge')!;
  expect(formatRuleset({ tables: new Map([['bridge', bridge]]) })).toMatchInlineSnapshot(`
    "table bridge sluice {
    	set pod-ports {
    		type iface_index
    		elements = { 7, 11 }
    	}

    	set pod-macs {
    		type iface_index . ether_addr
    		elements = { 7 . 0a:00:00:00:00:07, 11 . 0a:00:00:00:00:0b }
    	}

    	set senders {
    		type iface_index . ether_addr . ipv4_addr
    		elements = { 7 . 0a:00:00:00:00:07 . 10.0.1.7 }
    	}

    	set senders6 {
    		type iface_index . ether_addr . ipv6_addr
    		elements = { 7 . 0a:00:00:00:00:07 . fd00::7 }
    	}

    	set link-senders6 {
    		type iface_index . ether_addr . ipv6_addr
    		elements = {
    			7 . 0a:00:00:00:00:07 . ::,
    			7 . 0a:00:00:00:00:07 . fe80::7,
    			11 . 0a:00:00:00:00:0b . ::
    		}
    	}

    	set other-ports {
    		type iface_index
    	}

    	set port-macs {
    		type ether_addr
    	}

    	chain prerouting {
    		type filter hook prerouting priority -200; policy accept;
    		ether type ip iif . ether saddr . ip saddr @senders accept
    		iif @pod-ports goto from-pod-port
    	}

    	chain input {
    		type filter hook input priority -200; policy accept;
    		meta pkttype != host meta iifkind "veth" iif != @other-ports goto not-for-host
    	}

    	chain not-for-host {
    		meta pkttype other ether daddr @port-macs drop comment "to another port of the bridge"
    		ether daddr & ff:ff:ff:ff:ff:f0 == 01:80:c2:00:00:00 drop comment "from a pod to the bridge itself"
    		meta pkttype other accept
    		ether type arp accept
    		ether type ip6 icmpv6 type 131-133 accept
    		ether type ip6 icmpv6 type 135-136 accept
    		ether type ip6 icmpv6 type 143 accept
    		ether type ip ip protocol udp th sport 68 th dport 67 ip saddr 0.0.0.0 ip daddr 255.255.255.255 accept
    		drop comment "from a pod to everybody"
    	}

    	chain from-pod-port {
    		ether type arp arp operation 1-2 iif . arp saddr ether @pod-macs goto from-pod-port-arp
    		ether type ip ip protocol udp th sport 68 th dport 67 ip saddr 0.0.0.0 ip daddr 255.255.255.255 iif . ether saddr @pod-macs accept
    		ether type ip6 iif . ether saddr . ip6 saddr @senders6 goto from-pod-port-ip6
    		ether type ip6 iif . ether saddr . ip6 saddr @link-senders6 goto from-pod-port-link
    		drop comment "from an address that is not the pod’s, or of no kind that pods send"
    	}

    	chain from-pod-port-arp {
    		ether type arp arp saddr ip 0.0.0.0 goto probed
    		ether type arp iif . ether saddr . arp saddr ip @senders accept
    		drop comment "from an address that is not the pod’s"
    	}

    	chain probed {
    		ether type arp iif . ether saddr . arp daddr ip @senders accept
    		drop comment "a probe of an address that is not the pod’s"
    	}

    	chain from-pod-port-ip6 {
    		ip6 nexthdr tcp accept
    		ip6 nexthdr udp accept
    		ip6 nexthdr != 44 exthdr frag exists drop comment "a piece whose other headers the kernel would change"
    		meta l4proto != icmpv6 accept
    		meta l4proto icmpv6 goto from-pod-port-icmpv6
    		goto unread
    	}

    	chain unread {
    		ip6 nexthdr 44 @nh,336,16 & 0xfff8 != 0x0000 accept
    		drop comment "cut off before it says what it is"
    	}

    	chain from-pod-port-icmpv6 {
    		icmpv6 type 136 goto advertised
    		icmpv6 type 135 ether type ip6 ip6 saddr :: goto advertised
    		icmpv6 type 130 drop comment "from a pod that is no router"
    		icmpv6 type 151 drop comment "from a pod that is no router"
    		icmpv6 type != 136 accept
    		goto unread
    	}

    	chain advertised {
    		iif . ether saddr . icmpv6 taddr @senders6 accept
    		iif . ether saddr . icmpv6 taddr @link-senders6 accept
    		drop comment "an advertisement or a probe of an address that is not the pod’s"
    	}

    	chain from-pod-port-link {
    		exthdr frag exists drop comment "a piece"
    		ether type ip6 icmpv6 type 131-133 goto from-pod-port-icmpv6
    		ether type ip6 icmpv6 type 135-136 goto from-pod-port-icmpv6
    		ether type ip6 icmpv6 type 143 goto from-pod-port-icmpv6
    		drop comment "from an address of the link, or from none"
    	}
    }
    "
  `);
});

test('where ports are not known there is no table of bridges', () => {
  expect([...compiled(undefined).tables.keys()]).toEqual(['ip', 'ip6']);
  expect([...compiled([]).tables.keys()]).toEqual(['ip', 'ip6', 'bridge']);
});

test.each([[[]], [[WEB]], [[WEB, DB, HIDDEN]]])(
  'what is programmed says which ports are known: %j',
  ports => {
    expect(podPortsIn(compiled(ports))).toEqual(ports);
  },
);

test('podPortsIn() without a table of bridges knows nothing', () => {
  expect(podPortsIn(compiled(undefined))).toBeUndefined();
});

test('a pod that comes or goes is a few elements, and no rule of IP is touched', () => {
  const engine = new Incremental('n1');
  const steps: readonly (readonly PodPort[] | undefined)[] = [
    undefined,
    [WEB],
    [WEB, DB],
    [DB],
    [],
    undefined,
    [WEB],
  ];
  let before = engine.flush();
  for (const ports of steps) {
    engine.apply({ type: 'node', key: 'n1', value: node(ports) });
    const now = engine.flush();
    expect(plan(compiled(ports), now)).toEqual([]);
    expect(now.tables.has('bridge')).toBe(ports !== undefined);
    const ops = plan(before, now);
    if (before.tables.has('bridge') && ports !== undefined)
      expect(new Set(ops.map(({ op, family }) => `${op} ${family}`))).toEqual(
        new Set(
          ports.includes(DB) && !before.tables.get('bridge')!.sets.get('pod-ports')!.elements.has('9')
            ? ['addElements bridge']
            : ['delElements bridge'],
        ),
      );
    before = now;
  }
});

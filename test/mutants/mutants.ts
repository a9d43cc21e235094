/** Planted faults: one line of ours made wrong, and the test file that has to notice. */
export interface Mutant {
  /** What the fault is, in words. */
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The smallest test file that should fail. */
  readonly test: string;
}

const SCENARIOS = 'test/unit/scenarios.test.ts';
const TRACED = 'test/unit/scenario-trace.test.ts';
const EQUIVALENCE = 'test/property/equivalence.test.ts';
const NETWORKS = 'src/compiler/networks.test.ts';
const SIZES = 'test/property/sizes.test.ts';
const COMPILER_SIZES = 'src/compiler/sizes.test.ts';
const INCREMENTAL = 'test/property/incremental.test.ts';
const NETWORK_POLICY = 'src/kube/decode/networkpolicy.test.ts';
const CLUSTER_POLICY = 'src/kube/decode/clusterpolicy.test.ts';
const PLAN = 'src/nft/plan/plan.test.ts';
const CODEC = 'src/netlink/nftables/codec.test.ts';
const CONVERSATION = 'src/netlink/wire/conversation.test.ts';
const CONTRACT = 'test/kernel/contract.test.ts';
const CNI = 'src/network/cni/cni.test.ts';
const ORACLE = 'test/kernel/codec-oracle.test.ts';

export const MUTANTS: readonly Mutant[] = [
  // Decoders
  {
    name: 'policyTypes: egress rules do not make a policy an egress policy',
    file: 'src/kube/decode/networkpolicy.ts',
    find: "return isEmpty ? ['Ingress'] : POLICY_TYPES;",
    replace: "return ['Ingress'];",
    test: NETWORK_POLICY,
  },
  {
    name: 'policyTypes: an unknown word leaves the direction open',
    file: 'src/kube/decode/networkpolicy.ts',
    find: 'if (!clean) return POLICY_TYPES;',
    replace: '',
    test: NETWORK_POLICY,
  },
  {
    name: 'an empty `from` matches nobody instead of everybody',
    file: 'src/kube/decode/networkpolicy.ts',
    find: "return items.length === 0 ? 'any' : items.map(item => item.part(effect, read));",
    replace: 'return items.map(item => item.part(effect, read));',
    test: NETWORK_POLICY,
  },
  {
    name: 'a namespaceSelector is forgotten: the peer is of the policy’s own namespace',
    file: 'src/kube/decode/networkpolicy.ts',
    find: 'namespaces: namespaces.isPresent\n',
    replace: 'namespaces: !pods.isPresent\n',
    test: NETWORK_POLICY,
  },
  {
    name: 'endPort is forgotten',
    file: 'src/kube/decode/networkpolicy.ts',
    find: "return { kind: 'range', protocol, first, last: readEndPort(endPort, first) };",
    replace: "return { kind: 'range', protocol, first, last: first };",
    test: NETWORK_POLICY,
  },
  {
    name: 'a port without a protocol is one of every protocol’s, read as UDP',
    file: 'src/kube/decode/networkpolicy.ts',
    find: "oneOf(PROTOCOLS) ?? 'TCP'; // N25",
    replace: "oneOf(PROTOCOLS) ?? 'UDP'; // N25",
    test: NETWORK_POLICY,
  },
  {
    name: 'cluster policy: a direction without rules affects pods',
    file: 'src/kube/decode/clusterpolicy.ts',
    find: 'return decoded.length > 0 ? { [direction]: decoded } : {};',
    replace: 'return { [direction]: decoded };',
    test: CLUSTER_POLICY,
  },
  {
    name: 'cluster policy: no peer at all is every peer',
    file: 'src/kube/decode/clusterpolicy.ts',
    find: "if (items.length === 0) list.error('must name at least one peer');",
    replace: '',
    test: CLUSTER_POLICY,
  },
  {
    name: 'cluster policy: Accept and Pass change places',
    file: 'src/kube/decode/clusternetworkpolicy.ts',
    find: "actions: { Accept: 'accept', Deny: 'deny', Pass: 'pass' },",
    replace: "actions: { Accept: 'pass', Deny: 'deny', Pass: 'accept' },",
    test: CLUSTER_POLICY,
  },
  {
    name: 'a pod’s second address is forgotten',
    file: 'src/kube/decode/pod.ts',
    find: 'return [...new Set(addresses.filter(address => address !== undefined))];',
    replace: 'return addresses.filter(address => address !== undefined).slice(0, 1);',
    test: SCENARIOS,
  },
  {
    name: 'a finished pod keeps its address',
    file: 'src/kube/decode/pod.ts',
    find: "['Succeeded', 'Failed'].includes",
    replace: "['Succeeded'].includes",
    test: SCENARIOS,
  },

  // What is unknown
  {
    name: 'an unreadable deny matches nothing',
    file: 'src/model/failclosed.ts',
    find: ": { ...rule, action: 'deny', peers: 'any', ports: 'any' };",
    replace: ": { ...rule, action: 'deny', peers: [], ports: [] };",
    test: CLUSTER_POLICY,
  },
  {
    name: 'an unreadable accept accepts everything',
    file: 'src/model/failclosed.ts',
    find: '? { ...rule, action, peers: [], ports: [] }',
    replace: "? { ...rule, action, peers: 'any', ports: 'any' }",
    test: CLUSTER_POLICY,
  },
  {
    name: 'an unreadable list of peers is no constraint',
    file: 'src/model/failclosed.ts',
    find: 'return isUnknown(parts) ? [] : parts',
    replace: "return isUnknown(parts) ? 'any' : parts",
    test: NETWORK_POLICY,
  },

  // Selectors, addresses and precedence
  {
    name: 'NotIn does not match where the label is missing',
    file: 'src/model/selector.ts',
    find: 'return !present || !values.includes(labels[key]!);',
    replace: 'return present && !values.includes(labels[key]!);',
    test: SCENARIOS,
  },
  {
    name: 'of two pods that report an address the older owns it',
    file: 'src/model/addressowners.ts',
    find: 'a.key > b.key : a.createdAt > b.createdAt',
    replace: 'a.key > b.key : a.createdAt < b.createdAt',
    test: SCENARIOS,
  },
  {
    name: 'a greater priority wins',
    file: 'src/model/policy.ts',
    find: 'return a.order - b.order ||',
    replace: 'return b.order - a.order ||',
    test: SCENARIOS,
  },

  // The reference semantics
  {
    name: 'evaluate: except is forgotten',
    file: 'src/semantics/match.ts',
    find: '&& !peer.except.some(cidr => cidrContains(cidr, packet.peer))',
    replace: '',
    test: SCENARIOS,
  },
  {
    name: 'evaluate: a nodes peer matches the pods of the node',
    file: 'src/semantics/match.ts',
    find: 'return [...cluster.nodes.values()].filter(node => node.addresses.includes(address));',
    replace:
      'return [...cluster.nodes.values()].filter(node => node.addresses.includes(address) || [...cluster.pods.values()].some(pod => pod.node === node.name && pod.addresses.includes(address)));',
    test: SCENARIOS,
  },
  {
    name: 'evaluate: the end of a port range is left out',
    file: 'src/semantics/match.ts',
    find: 'flow.port <= port.last',
    replace: 'flow.port < port.last + Number(port.first === port.last)',
    test: SCENARIOS,
  },
  {
    name: 'evaluate: a named port means the other end’s containers',
    file: 'src/semantics/match.ts',
    find: "direction === 'ingress' ? subject : peerPod, port",
    replace: "direction === 'egress' ? subject : peerPod, port",
    test: SCENARIOS,
  },
  {
    name: 'evaluate: pass allows',
    file: 'src/semantics/evaluate.ts',
    find: "if (match === undefined || match.rule.action === 'pass') return undefined;",
    replace: 'if (match === undefined) return undefined;',
    test: SCENARIOS,
  },
  {
    name: 'evaluate: the baseline is asked before NetworkPolicy',
    file: 'src/semantics/evaluate.ts',
    find: 'judgeNetworkPolicy(view, packet) ??\n    judgeBaseline(view, packet) ??',
    replace: 'judgeBaseline(view, packet) ??\n    judgeNetworkPolicy(view, packet) ??',
    test: SCENARIOS,
  },
  {
    name: 'evaluate: a node does not reach its own pods',
    file: 'src/semantics/evaluate.ts',
    find: "if (direction === 'ingress' && isNodeItself(cluster",
    replace: "if (direction === 'egress' && isNodeItself(cluster",
    test: SCENARIOS,
  },

  // What people read, and whoever calls
  {
    name: 'terminal: what a cluster wrote reaches the terminal as it is',
    file: 'src/terminal/colours.ts',
    find: 'return printable(line).replaceAll(',
    replace: 'return line.replaceAll(',
    test: 'src/terminal/printable.test.ts',
  },
  {
    name: 'explain: a finished pod is answered as whoever has its address',
    file: 'src/semantics/flowtext.ts',
    find: 'if (pod.finished)',
    replace: 'if (pod.finished && pod.hostNetwork)',
    test: 'src/semantics/flowtext.test.ts',
  },
  {
    name: 'inspect: a rule of IPv4 alone is shown as one of both families',
    file: 'src/readback/families.ts',
    find: "rules.push({ ...rule, family: 'ip' })",
    replace: 'rules.push(rule)',
    test: 'src/readback/families.test.ts',
  },
  {
    name: 'http: half a request is waited for',
    file: 'src/rpc/http.ts',
    find: 'connectionsCheckingInterval: checkMs,',
    replace: '',
    test: 'src/rpc/http.test.ts',
  },
  {
    name: 'attach: a link is followed where a namespace is made',
    file: 'src/network/attach/namespacefolder.ts',
    find: 'if (found !== undefined && !found.isFile())',
    replace: 'if (found?.isFIFO())',
    test: 'src/network/attach/namespacefolder.test.ts',
  },

  // The compiler
  {
    name: 'compile: deny accepts',
    file: 'src/compiler/program.ts',
    find: "deny: { kind: 'drop' },",
    replace: "deny: { kind: 'accept' },",
    test: TRACED,
  },
  {
    name: 'compile: the Admin tier never passes',
    file: 'src/compiler/program.ts',
    find: "some(({ action }) => action === 'pass') ?? false;",
    replace: "some(({ action }) => action === 'pass' && false) ?? false;",
    test: TRACED,
  },
  {
    name: 'compile: the baseline is consulted although a NetworkPolicy isolates',
    file: 'src/compiler/program.ts',
    find: "tier('networkpolicy') ?? tier('baseline')",
    replace: "tier('baseline') ?? tier('networkpolicy')",
    test: TRACED,
  },
  {
    name: 'compile: rules that stand between two of the other action join them',
    file: 'src/compiler/program.ts',
    find: 'const last = runs.at(-1);',
    replace: 'const last = runs.find(({ action }) => action === sourced.rule.action);',
    test: TRACED,
  },
  {
    name: 'compile: IPv6 is forgotten',
    file: 'src/compiler/compile.ts',
    find: 'const tables = FAMILIES.map((family)',
    replace: 'const tables = FAMILIES.slice(0, 1).map((family)',
    test: TRACED,
  },
  {
    name: 'compile: source and destination change places',
    file: 'src/compiler/peers.ts',
    find: "const field = direction === 'ingress' ? 'saddr' : 'daddr';",
    replace: "const field = direction === 'egress' ? 'saddr' : 'daddr';",
    test: TRACED,
  },
  {
    name: 'compile: except is forgotten where networks are compared',
    file: 'src/compiler/networkmatches.ts',
    find: '...ofFamily.flatMap(hole => addressInNetwork(hole, field, true))',
    replace: '',
    test: TRACED,
  },
  {
    name: 'compile: except is forgotten where networks are a set',
    file: 'src/compiler/networks.ts',
    find: 'if (except.length === 0) return',
    replace: 'if (except.length >= 0) return',
    test: NETWORKS,
  },
  {
    name: 'compile: a network inside another cuts that one short',
    file: 'src/compiler/networks.ts',
    find: 'last: max(before.last, range.last) };',
    replace: 'last: range.last };',
    test: NETWORKS,
  },
  {
    name: 'compile: a wide port range loses its last port',
    file: 'src/compiler/run.ts',
    find: 'destinationPort(ports.first, ports.last)',
    replace: 'destinationPort(ports.first, ports.last - 1)',
    test: EQUIVALENCE,
  },
  {
    name: 'compile: a rule without peers matches everybody',
    file: 'src/compiler/rulesofrun.ts',
    find: "if (peers !== 'any' && peers.length === 0) return [];",
    replace: "if (peers !== 'any' && peers.length === 0) return [{ label, peers: 'any', ports: 'any' }];",
    test: TRACED,
  },
  {
    name: 'compile: replies are not let through',
    file: 'src/compiler/base.ts',
    find: 'CT_STATE.established | CT_STATE.related',
    replace: 'CT_STATE.related',
    test: 'src/compiler/base.test.ts',
  },
  {
    name: 'compile: as many compares of networks stand in a rule as there are exceptions',
    file: 'src/compiler/networkmatches.ts',
    find: 'const MOST_COMPARES = 25;',
    replace: 'const MOST_COMPARES = 60;',
    test: COMPILER_SIZES,
  },
  {
    name: 'compile: of ranges that overlap only the first counts',
    file: 'src/compiler/portmaps.ts',
    find: 'covers.flatMap(({ peerLists }) => peerLists)',
    replace: 'covers[0]!.peerLists',
    test: SIZES,
  },
  {
    name: 'compile: a range ends before its last port',
    file: 'src/model/segments.ts',
    find: 'pushTo(closes, ports.last + 1, index);',
    replace: 'pushTo(closes, ports.last, index);',
    test: SIZES,
  },
  {
    name: 'compile: who is not meant is who is meant',
    file: 'src/compiler/peers.ts',
    find: 'addressIn(family, field, others, true)',
    replace: 'addressIn(family, field, others)',
    test: SIZES,
  },
  {
    name: 'compile: named ports of networks match no pod inside them',
    file: 'src/compiler/namedportpeers.ts',
    find: '!isSelected && !isInNetworks(address, peer)',
    replace: '!isSelected',
    test: SIZES,
  },
  {
    name: 'compile: a rule of many ports and many peers is forgotten',
    file: 'src/compiler/rulesofrun.ts',
    find: '...large.map(rule => [rule])',
    replace: '...large.slice(1).map(rule => [rule])',
    test: SIZES,
  },
  {
    name: 'plan: an interval map goes ahead of the chains that it leads to',
    file: 'src/nft/plan/stages.ts',
    find: "(op.op === 'addChain' && targets",
    replace: "(op.op === 'addTable' && targets",
    test: 'src/nft/plan/stages.test.ts',
  },
  {
    name: 'budget: a policy that gets room again stays without its rules',
    file: 'src/model/namespacebudget.ts',
    find: '...changed.filter(id => !touched.has(id)).map(id => this.#asItCounts(this.#given(id))),',
    replace: '',
    test: 'src/model/namespacebudget.test.ts',
  },
  {
    name: 'compile: neighbour discovery is dropped',
    file: 'src/compiler/base.ts',
    find: "return family === 'ip' ? [replies] : [replies, toNeighbours()];",
    replace: 'return [replies];',
    test: 'src/compiler/base.test.ts',
  },
  {
    name: 'compile: pods reach their own node past policy',
    file: 'src/compiler/base.ts',
    find: "input: [toEgress, ...unknownRules(family, denied, 'input', 'saddr')],",
    replace: "input: [...unknownRules(family, denied, 'input', 'saddr')],",
    test: TRACED,
  },
  {
    name: 'guard: it looks at the pods of the other direction',
    file: 'src/compiler/midstreamguard.ts',
    find: "drop('saddr', 'ingress', 'from",
    replace: "drop('saddr', 'egress', 'from",
    test: 'src/compiler/midstreamguard.test.ts',
  },
  {
    name: 'guard: connections that are known are dropped too',
    file: 'src/compiler/midstreamguard.ts',
    find: 'exprs: [...ctStateAny(CT_STATE.new), ...addressIn(family, field, SETS[direction])',
    replace: 'exprs: [...addressIn(family, field, SETS[direction])',
    test: 'src/compiler/midstreamguard.test.ts',
  },
  {
    name: 'the payload offset of an IPv4 source is the destination’s',
    file: 'src/nft/match.ts',
    find: 'ip: { saddr: 12, daddr: 16 }',
    replace: 'ip: { saddr: 16, daddr: 16 }',
    test: TRACED,
  },
  {
    name: 'a concatenation’s second field overwrites the first',
    file: 'src/nft/match.ts',
    find: 'loadDestinationPort(dreg + 1)',
    replace: 'loadDestinationPort(dreg)',
    test: TRACED,
  },

  // Incremental
  {
    name: 'incremental: a namespace’s new labels do not concern its pods',
    file: 'src/compiler/live/incremental.ts',
    find: 'for (const { pod } of this.#podIndex.inNamespace(name)) pods.add(pod.key);',
    replace: 'for (const { pod } of this.#podIndex.inNamespace(name)) pods.has(pod.key);',
    test: INCREMENTAL,
  },
  {
    name: 'incremental: a pod that leaves a class stays counted',
    file: 'src/compiler/live/classes.ts',
    find: 'live.pods.delete(pod);',
    replace: '',
    test: INCREMENTAL,
  },
  {
    name: 'incremental: a class keeps the rules of a policy that was edited',
    file: 'src/compiler/live/classes.ts',
    find: 'a.policies.every((policy, i) => policy === b.policies[i])',
    replace: 'a.policies.every((policy, i) => policy.id === b.policies[i]!.id)',
    test: INCREMENTAL,
  },
  {
    name: 'incremental: who takes an address over does not take it from its group',
    file: 'src/compiler/live/podindex.ts',
    find: 'for (const other of changed) if (other !== key) this.#renew(other);',
    replace: '',
    test: INCREMENTAL,
  },
  {
    name: 'incremental: an old address stays in the group',
    file: 'src/compiler/live/groups.ts',
    find: 'for (const key of before) live.sets[familyOf(key as Address)].delete(key);',
    replace: '',
    test: INCREMENTAL,
  },
  {
    name: 'incremental: a new node joins no group',
    file: 'src/compiler/live/incremental.ts',
    find: 'for (const name of marked.node) this.#groups.refreshNode(name);',
    replace: '',
    test: INCREMENTAL,
  },
  {
    name: 'history: an older version forgets what it was',
    file: 'src/nft/plan/history.ts',
    find: 'if (!this.#different.has(key)) this.#different.set(key, value);',
    replace: 'this.#different.set(key, value);',
    test: 'src/nft/plan/history.test.ts',
  },

  // The planner
  {
    name: 'plan: elements are deleted after they are added',
    file: 'src/nft/plan/plan.ts',
    find: '...sets.change.flatMap(change => delElements(family, change)),\n',
    replace: '',
    test: PLAN,
  },
  {
    name: 'plan: a chain is deleted before the rules that jump to it',
    file: 'src/nft/plan/plan.ts',
    find: "...chains.flush.map(({ name }): Op => ({ op: 'flushChain', family, chain: name })),\n",
    replace: '',
    test: PLAN,
  },
  {
    name: 'plan: an element whose verdict changed stays',
    file: 'src/nft/plan/equal.ts',
    find: 'a.data === b.data && verdictsEqual(a.verdict, b.verdict)',
    replace: 'a.data === b.data',
    test: PLAN,
  },
  {
    name: 'plan: a set that is full is not remade',
    file: 'src/nft/plan/plan.ts',
    find: 'return !specsEqual(actual, desired) || !hasRoomFor(actual, desired);',
    replace: 'return !specsEqual(actual, desired);',
    test: PLAN,
  },
  {
    name: 'plan: a rule’s look-up still names the set that was remade',
    file: 'src/nft/plan/plan.ts',
    find: '|| usesAny(removedSets, desired)',
    replace: '',
    test: PLAN,
  },

  // The codec
  {
    name: 'codec: an interval ends with its last value instead of behind it',
    file: 'src/netlink/nftables/intervals.ts',
    find: 'return { first, end: after(last) };',
    replace: 'return { first, end: last };',
    test: CODEC,
  },
  {
    name: 'codec: fields of a concatenation are not padded',
    file: 'src/netlink/nftables/keys.ts',
    find: 'return key.reduce((length, type) => length + align(FIELD_LENGTH[type]), 0);',
    replace: 'return key.reduce((length, type) => length + FIELD_LENGTH[type], 0);',
    test: ORACLE,
  },
  {
    name: 'codec: a key says that it is of another type',
    file: 'src/netlink/nftables/keys.ts',
    find: 'inet_proto: 12,',
    replace: 'inet_proto: 13,',
    test: CODEC,
  },
  {
    name: 'codec: the comment of a rule is lost',
    file: 'src/netlink/nftables/encode.ts',
    find: 'if (rule.comment !== undefined) writeComment',
    replace: 'if (rule.comment?.length === 0) writeComment',
    test: CODEC,
  },
  {
    name: 'a dump of which answers were lost is taken for a whole one',
    file: 'src/netlink/wire/dumpreader.ts',
    find: "this.#fault ??= new Interrupted('answers were lost');",
    replace: '',
    test: CONVERSATION,
  },
  {
    name: 'a dump that somebody changed meanwhile is taken for one of a moment',
    file: 'src/netlink/wire/dumpreader.ts',
    find: '(message.flags & NLM_F.DUMP_INTR) !== 0',
    replace: 'false',
    test: CONVERSATION,
  },
  {
    name: 'the end of an interval is counted as an element: an error names another network',
    file: 'src/netlink/nftables/refusedelement.ts',
    find: '&& !endsInterval(bytes, from, to)',
    replace: '',
    test: CONTRACT,
  },
  {
    name: 'a look-up is taken for smaller than the kernel keeps it: a rule is made that is refused',
    file: 'src/nft/limits.ts',
    find: 'const LOOKUP = 56;',
    replace: 'const LOOKUP = 48;',
    test: CONTRACT,
  },
  {
    name: 'a table that somebody put to sleep is not woken',
    file: 'src/netlink/nftables/ownership.ts',
    find: 'table.flags & ~TABLE_F.DORMANT',
    replace: 'table.flags',
    test: 'test/kernel/adoption.test.ts',
  },
  {
    name: 'tables are taken over whatever others wrote meanwhile',
    file: 'src/netlink/nftables/attempt.ts',
    find: '...plainAttempt([], expected, circumstances)',
    replace: '...plainAttempt([], undefined, circumstances)',
    test: 'test/kernel/adoption.test.ts',
  },
  {
    name: 'codec: jump is goto',
    file: 'src/netlink/nftables/verdicts.ts',
    find: 'to.u32(VERDICT.CODE, VERDICT_CODE[verdict.kind]);',
    replace: "to.u32(VERDICT.CODE, VERDICT_CODE[verdict.kind === 'jump' ? 'goto' : verdict.kind]);",
    test: CODEC,
  },
  {
    name: 'codec: a base chain that drops accepts',
    file: 'src/netlink/nftables/encode.ts',
    find: 'to.u32(CHAIN.POLICY, CHAIN_POLICY[policy]);',
    replace: 'to.u32(CHAIN.POLICY, CHAIN_POLICY.accept);',
    test: CODEC,
  },

  // Pods that we attach ourselves
  {
    name: 'host ports: who gets an address gets the ports that led to it',
    file: 'src/network/hostports/portplan.ts',
    find: '!addresses.includes(element.pod) ||',
    replace: 'true ||',
    test: 'src/network/hostports/portplan.test.ts',
  },
  {
    name: 'old connections: the next pod at an address does not wait for them to be forgotten',
    file: 'src/agent/connections/staleconntrack.ts',
    find: '...addresses.map(address => this.#leaving.get(address))',
    replace: '',
    test: 'src/agent/connections/staleconntrack.test.ts',
  },
  {
    name: 'start gate: whoever had the address before may go on',
    file: 'src/network/sandboxes/startgate.ts',
    find: 'staleConntrack.flushed(sandbox.addresses)',
    replace: 'undefined',
    test: 'src/network/sandboxes/startgate.test.ts',
  },
  {
    name: 'attach: a living pod’s address whose route is gone is given out again',
    file: 'src/network/attach/attacher.ts',
    find: '[...this.#reserved, ...this.#claimed()]',
    replace: 'this.#reserved',
    test: 'test/kernel/podnetwork.test.ts',
  },
  {
    name: 'ipam: an address that is taken is given out again',
    file: 'src/network/attach/ipam.ts',
    find: 'if (!taken.has(address)) return address;',
    replace: 'return address;',
    test: 'src/network/attach/ipam.test.ts',
  },
  {
    name: 'garbage: a pod that is not told of for a moment loses its interface',
    file: 'src/network/attach/garbage.ts',
    find: '>= GRACE_MS',
    replace: '>= 0',
    test: 'src/network/attach/garbage.test.ts',
  },
  {
    name: 'local pods: the end of an older sandbox takes the younger its addresses',
    file: 'src/network/sandboxes/localpods.ts',
    find: 'its.findLast(({ addresses }) => addresses.length > 0) ?? its.at(-1)',
    replace: 'its[0]',
    test: 'src/network/sandboxes/localpods.test.ts',
  },
  {
    name: 'node routes: a node behind a router is taken for a neighbour',
    file: 'src/network/routes/noderoutes.ts',
    find: ' || way.gateway !== undefined',
    replace: '',
    test: 'src/network/routes/noderoutes.test.ts',
  },
  {
    name: "attached pods: a pod may send in another's name",
    file: 'src/compiler/attachedpods.ts',
    find: "...noRouteBack(), verdict('drop')",
    replace: "...noRouteBack(), verdict('return')",
    test: 'test/kernel/podtable.test.ts',
  },
  {
    name: 'attached pods: a pod has the address of its node among pods',
    file: 'src/compiler/attachedpods.ts',
    find: "...addressIn(family, 'daddr', name), verdict('return')",
    replace: "...addressIn(family, 'daddr', name), masquerade()",
    test: 'src/compiler/attachedpods.test.ts',
  },
  {
    name: 'attached pods: a node that says what it said before is taken for another',
    file: 'src/compiler/live/attachedpods.ts',
    find: "if ((this.#networks.get(name) ?? '') === text) return false;",
    replace: '',
    test: 'src/compiler/attachedpods.test.ts',
  },
  {
    name: 'host ports: a port that the kernel holds is not taken over',
    file: 'src/compiler/hostports.ts',
    find: 'known === undefined || pod === undefined',
    replace: 'true',
    test: 'src/compiler/attachedpods.test.ts',
  },
  {
    name: 'CNI: a list of attachments that names nobody is taken for names',
    file: 'src/network/cni/cni.ts',
    find: "String(attachment?.containerID ?? '')",
    replace: 'String(attachment?.containerID)',
    test: CNI,
  },
  {
    name: 'CNI: a collection without a list takes all pods',
    file: 'src/network/cni/cni.ts',
    find: 'if (valid === undefined || valid === null) return network?.collect();',
    replace: 'if (valid === undefined || valid === null) return network?.collectAllBut([]);',
    test: CNI,
  },
  {
    name: 'CNI: STATUS is silent while the node is not ready',
    file: 'src/network/cni/cni.ts',
    find: 'if (unavailable.length === 0) return;',
    replace: 'if (unavailable.length >= 0) return;',
    test: CNI,
  },
  {
    name: 'CNI: bytes of another protocol are taken for a request',
    file: 'src/rpc/cnisocket.ts',
    find: '!bytes.subarray(0, MAGIC.length).equals(MAGIC) || ',
    replace: '',
    test: 'src/rpc/cnisocket.test.ts',
  },

  // Pods that start, and authors who hear of their mistakes
  {
    name: 'start gate: a pod starts before its rules are in force',
    file: 'src/network/sandboxes/startgate.ts',
    find: 'programmed().then(() => staleConntrack.flushed(sandbox.addresses)),',
    replace: 'Promise.resolve(),',
    test: 'src/network/sandboxes/startgate.test.ts',
  },
  {
    name: 'Events: what is wrong is told again at every change',
    file: 'src/kube/report/problemevents.ts',
    find: 'if (!this.#reported.has(name)) this.#recorder.post(notice);',
    replace: 'this.#recorder.post(notice);',
    test: 'src/kube/report/event.test.ts',
  },
  {
    name: 'Events: one policy may fill the cluster with them',
    file: 'src/kube/report/problemevents.ts',
    find: 'count > MOST_OF_ONE_OBJECT ?',
    replace: 'count > 1e9 ?',
    test: 'src/kube/report/event.test.ts',
  },

  // The loop: turns, budgets, and policies that the kernel refuses
  {
    name: 'fairness: small changes wait for a large one in their batch',
    file: 'src/agent/changes/fairqueue.ts',
    find: 'this.#passedOver = isDue && atOnce.length > 0 && !this.#passedOver;',
    replace: 'this.#passedOver = false;',
    test: 'src/agent/fairness.test.ts',
  },
  {
    name: 'fairness: large changes have all the time there is',
    file: 'src/agent/changes/fairqueue.ts',
    find: 'if (this.#tookLarge) this.#largeAtMs = nowMs + Math.min(tookMs, FAIRNESS.mostPauseMs);',
    replace: '',
    test: 'src/agent/changes/fairqueue.test.ts',
  },
  {
    name: 'fairness: the same namespace has turn after turn',
    file: 'src/agent/changes/fairqueue.ts',
    find: 'this.#turns.set(first.namespace, ++this.#turn);',
    replace: '',
    test: 'src/agent/changes/fairqueue.test.ts',
  },
  {
    name: 'fairness: a pod starts before a new policy of its namespace',
    file: 'src/agent/changes/fairqueue.ts',
    find: "return namespace === '' ? this.#hurried.size > 0 : this.#hurried.has(namespace);",
    replace: 'return false;',
    test: 'src/agent/fairness.test.ts',
  },
  {
    name: 'budget: urgent changes run into debt without end',
    file: 'src/agent/bucket.ts',
    find: 'const inAdvanceMs = untilMs(1 - reserve);',
    replace: 'const inAdvanceMs = untilMs(-1000);',
    test: 'src/agent/bucket.test.ts',
  },
  {
    name: 'quarantine: the base waits for policies',
    file: 'src/agent/batch.ts',
    find: 'this.isBase = this.isFirst && actual.tables.size === 0 && !noneWait;',
    replace: '',
    test: 'src/agent/quarantine.test.ts',
  },
  {
    name: 'quarantine: a policy that is refused allows what it did',
    file: 'src/agent/changes/isolated.ts',
    find: 'return first === undefined ? [] :',
    replace: 'return first === undefined ? rules :',
    test: 'src/agent/quarantine.test.ts',
  },
  {
    name: 'quarantine: what changed while it was tried is forgotten',
    file: 'src/agent/changes/quarantine.ts',
    find: 'const later = released.filter(id => this.#held.get(id)!.changed);',
    replace: 'const later: PolicyId[] = [];',
    test: 'src/agent/quarantine.test.ts',
  },
  {
    name: 'quarantine: who is refused is tried again without a pause',
    file: 'src/agent/changes/quarantine.ts',
    find: 'return triedAtMs + backoffMs(changed ? AGAIN.changed : AGAIN.same, refusals);',
    replace: 'return triedAtMs;',
    test: 'src/agent/quarantine.test.ts',
  },
  {
    name: 'quarantine: a shortage of the kernel is blamed on a tenant',
    file: 'src/agent/blame.ts',
    find: 'return STATE.has(error.code) && (isTrial || isSettling || failuresBefore >= DOUBTS);',
    replace: 'return STATE.has(error.code);',
    test: 'src/agent/blame.test.ts',
  },
  {
    name: 'start gate: it connects before the first commit',
    file: 'src/daemon/startgate.ts',
    find: 'await Promise.race([this.#needs.barrier.programmed(), aborted(signal)]);',
    replace: '',
    test: 'src/daemon/startgate.test.ts',
  },
  {
    name: 'start: rules in force are replaced by what is known of less',
    file: 'src/daemon/startcondition.ts',
    find: 'const needed = missing.filter(kind => madeFrom.has(kind));',
    replace: 'const needed: string[] = [];',
    test: 'src/daemon/startcondition.test.ts',
  },
];

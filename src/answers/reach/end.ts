/**
 * The ends that connections of one family can have. All addresses of which policies can tell the same are one end:
 * pods of one template and region, nodes of the same selectors, and what is left of each region.
 */
export interface End {
  /** The index of its pods' template; absent where no pod has the addresses. */
  readonly template?: number;
  /** The index of its region. */
  readonly region: number;
  /** The node selectors that mean it, by index. */
  readonly nodeSelectors: readonly number[];
  /** Addresses of nodes, as all nodes know them: tunnels end there. */
  readonly isTunnelEnd: boolean;
  /** Outside of the pod networks, where that matters: what is for a tunnel that nodes have does not go there. */
  readonly isOutside: boolean;
  /** Addresses of pod networks that no known pod has, where such are denied. */
  readonly isUnknownPod: boolean;
}

export class EndTable {
  readonly #all: End[] = [];
  readonly #byText = new Map<string, number>();

  get all(): readonly End[] {
    return this.#all;
  }

  /** Its index; the same for the same. */
  add(end: End): number {
    const { template, region, nodeSelectors, isTunnelEnd, isOutside, isUnknownPod } = end;
    const text = `${template}/${region}/${nodeSelectors}/${isTunnelEnd}/${isOutside}/${isUnknownPod}`;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    this.#byText.set(text, this.#all.length);
    return this.#all.push(end) - 1;
  }
}

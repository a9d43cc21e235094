/** What the build makes of other files (scripts/page.ts). */
declare module 'bundled:worker' {
  /** The script of the worker (core/worker.ts). */
  export const source: string;
}

declare module 'bundled:examples' {
  export const examples: readonly {
    /** `shop`. */
    readonly id: string;
    readonly title: string;
  }[];
}

declare module 'bundled:examplefiles' {
  /** By the id of the example. */
  export const files: ReadonlyMap<string, readonly (readonly [name: string, text: string])[]>;
}

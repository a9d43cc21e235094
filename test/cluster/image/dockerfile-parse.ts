/** The part of the Dockerfile language that our own file uses, as data; anything else is an error. */
export type Instruction = { readonly text: string } & (
  | { readonly verb: 'FROM'; readonly base: string; readonly name: string }
  | { readonly verb: 'WORKDIR'; readonly path: string }
  | {
      readonly verb: 'COPY';
      readonly from: string | undefined;
      readonly sources: readonly string[];
      readonly target: string;
    }
  | { readonly verb: 'RUN'; readonly command: string }
  | { readonly verb: 'ENTRYPOINT'; readonly words: readonly string[] }
);

/** `given`: arguments that whoever builds gives, and the file has no default for. */
export function parseDockerfile(text: string, given: readonly string[] = []): readonly Instruction[] {
  const args = new Map(given.map(name => [name, '']));
  const instructions: Instruction[] = [];
  for (const line of logicalLines(text)) {
    const [verb, rest] = split(line);
    if (verb === 'ARG') setArgument(args, rest);
    else instructions.push({ text: line, ...parse(verb, rest, args, instructions.length) });
  }
  return instructions;
}

/** A backslash at its end continues a line; a comment line is none, even in between. */
function logicalLines(text: string): readonly string[] {
  const lines = text.split('\n').filter(line => !line.trimStart().startsWith('#'));
  const joined = lines.join('\n').replace(/\s*\\\n\s*/g, ' ');
  return joined.split('\n').filter(line => line.trim() !== '');
}

function split(line: string): [string, string] {
  const [, verb, rest] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
  if (verb === undefined || rest === undefined) throw new SyntaxError(`not an instruction: ${line}`);
  return [verb.toUpperCase(), rest.trim()];
}

function setArgument(args: Map<string, string>, rest: string): void {
  const [name, value] = rest.split('=', 2) as [string, string?];
  if (value === undefined && args.has(name)) return;
  if (value === undefined) throw new SyntaxError(`ARG ${name} has no default`);
  args.set(name, value);
}

function parse(verb: string, rest: string, args: ReadonlyMap<string, string>, index: number) {
  switch (verb) {
    case 'FROM':
      return parseFrom(rest, args, index);
    case 'WORKDIR':
      return { verb, path: rest } as const;
    case 'COPY':
      return parseCopy(rest);
    case 'RUN':
      return { verb, command: rest } as const;
    case 'ENTRYPOINT':
      return { verb, words: JSON.parse(rest) as string[] } as const;
    default:
      throw new SyntaxError(`${verb} is not an instruction that our Dockerfile uses`);
  }
}

function parseFrom(rest: string, args: ReadonlyMap<string, string>, index: number) {
  // Nothing is run here but for this machine: a platform changes nothing.
  const words = rest.split(/\s+/).filter(word => !word.startsWith('--platform='));
  const [base, , name] = words as [string, string?, string?];
  return { verb: 'FROM', base: expand(base, args), name: name ?? String(index) } as const;
}

function expand(text: string, args: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name) => {
    const value = args.get(name);
    if (value === undefined) throw new SyntaxError(`no ARG ${name}`);
    return value;
  });
}

function parseCopy(rest: string) {
  const words = rest.split(/\s+/);
  const from = words[0]!.startsWith('--from=') ? words.shift()!.slice('--from='.length) : undefined;
  const target = words.pop()!;
  if (words.length === 0) throw new SyntaxError(`COPY ${rest}: nothing to copy`);
  return { verb: 'COPY', from, sources: words, target } as const;
}

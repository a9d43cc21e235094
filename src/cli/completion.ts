// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the shell's own
/** Scripts that complete commands and options in a shell, made from the commands themselves. */
import type { Command } from 'commander';
import { CommandError } from '../terminal/commanderror.ts';
import { writeDocument } from '../terminal/output.ts';

const SHELLS = { bash, zsh, fish };

export function completionCommand(sluice: Command, shell: string): void {
  if (!Object.hasOwn(SHELLS, shell))
    throw new CommandError(`"${shell}" is no shell that is known (${Object.keys(SHELLS).join(', ')})`);
  writeDocument(SHELLS[shell as keyof typeof SHELLS](wordsOf(sluice)));
}

interface Words {
  readonly command: string;
  readonly words: readonly string[];
  readonly choices: readonly Choices[];
}

/** The values that an option takes; the option is given by all of its names. */
interface Choices {
  readonly names: readonly string[];
  readonly values: readonly string[];
}

/** The commands first, under the empty name. */
function wordsOf(sluice: Command): readonly Words[] {
  const commands = sluice.commands.map(command => ({
    command: command.name(),
    words: [
      ...command.commands.map(each => each.name()),
      ...command.options
        .filter(({ hidden }) => !hidden)
        .flatMap(({ short, long }) => [long, short].filter(word => word != null)),
      '--help',
    ],
    choices: command.options.flatMap(choicesOf),
  }));
  return [
    { command: '', words: ['--help', '--version', ...commands.map(({ command }) => command)], choices: [] },
    ...commands,
  ];
}

function choicesOf({ short, long, argChoices }: Command['options'][number]): Words['choices'] {
  if (argChoices === undefined) return [];
  return [{ names: [short, long].filter(word => word != null), values: argChoices }];
}

function bash(all: readonly Words[]): string[] {
  const [first, ...commands] = all;
  return [
    '# sluice completion bash: source <(sluice completion bash)',
    '_sluice() {',
    '  local current=${COMP_WORDS[COMP_CWORD]} words',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    words='${first!.words.join(' ')}'`,
    '  else case ${COMP_WORDS[1]} in',
    ...commands.map(({ command, words }) => `    ${command}) words='${words.join(' ')}' ;;`),
    '  esac; fi',
    '  case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD-1]} in',
    ...commands.flatMap(({ command, choices }) =>
      choices.map(({ names, values }) => `    ${patternOf(command, names)}) words='${values.join(' ')}' ;;`),
    ),
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))',
    '}',
    'complete -o filenames -F _sluice sluice ./sluice',
  ];
}

function patternOf(command: string, names: readonly string[]): string {
  return names.map(name => `${command}:${name}`).join('|');
}

function zsh(all: readonly Words[]): string[] {
  return [
    '# sluice completion zsh: source <(sluice completion zsh)',
    'autoload -U +X bashcompinit && bashcompinit',
    ...bash(all).slice(1),
  ];
}

function fish(all: readonly Words[]): string[] {
  return [
    '# sluice completion fish: sluice completion fish | source',
    ...all.flatMap(({ command, words, choices }) => {
      const when = command === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${command}`;
      return [
        `complete -c sluice -n '${when}' -a '${words.join(' ')}'`,
        ...choices.map(
          ({ names, values }) =>
            `complete -c sluice -n '${when}' ${fishNames(names)} -xa '${values.join(' ')}'`,
        ),
      ];
    }),
  ];
}

/** The names of an option in the syntax of the fish shell: `-s o -l output`. */
function fishNames(names: readonly string[]): string {
  return names.map(name => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ');
}

/** What a program prints of a folder is read like a file, whose name is the command that prints it. */

const COMMANDS = ['helm template', 'kustomize build', 'kubectl kustomize'] as const;

export type RenderCommand = (typeof COMMANDS)[number];

export function renderedName(command: RenderCommand, folder: string): string {
  return `${command} ${folder}`;
}

export function isRendered(name: string): boolean {
  return COMMANDS.some(command => name.startsWith(`${command} `));
}

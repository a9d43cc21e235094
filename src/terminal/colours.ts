/** Colours for people at a terminal. What goes into a pipe is plain text, on a CI machine as anywhere. */
import pc from 'picocolors';

/** Whether to write in colour: NO_COLOR (https://no-color.org) says no, FORCE_COLOR yes, else the terminal decides. */
export function inColour(
  env: Readonly<Record<string, string | undefined>>,
  stdout: { readonly isTTY?: boolean },
): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  return stdout.isTTY === true && env.TERM !== 'dumb';
}

export default pc.createColors(inColour(process.env, process.stdout));

export type Colours = ReturnType<typeof pc.createColors>;

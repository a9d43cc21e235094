/** A reporter beside vitest's JSON report, which has of each test the project that it is of, and why it was skipped. */
import type { Reporter, TestModule } from 'vitest/node';

export default class Annotate implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules)
      for (const test of module.children.allTests()) {
        const result = test.result();
        const skipped = result.state === 'skipped' ? result.note : undefined;
        Object.assign(test.meta(), { project: module.project.name, skipped });
      }
  }
}

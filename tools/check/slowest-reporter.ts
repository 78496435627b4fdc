import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { describeSlowest } from './vitest-report.ts'

/** Prints the ten slowest tests after a run of many files (docs/project/tests.md). */
export class SlowestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length < 2) return
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        file: relative(process.cwd(), module.moduleId),
        name: test.fullName,
        milliseconds: test.diagnostic()?.duration ?? 0,
      })),
    )
    console.log(`\nslowest tests:\n${describeSlowest(tests).join('\n')}`)
  }
}

import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'

/** The parts of Vitest's JSON report that the checks use. */
export interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly duration?: number | null
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

export interface FailedTest {
  readonly file: string
  readonly name: string
  readonly message: string
}

export interface TimedTest {
  readonly file: string
  readonly name: string
  readonly milliseconds: number
}

const LISTED = 10

/** Returns undefined when there is no report: the run broke, and its exit code shows it. */
export async function readReport(path: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Report
  } catch {
    return undefined
  }
}

/** Returns the failed tests. Returns none when a file broke outside of its tests: such a file never runs again. */
export function failedTests(report: Report, root: string): readonly FailedTest[] {
  const failures: FailedTest[] = []
  for (const { name: path, status, assertionResults } of report.testResults) {
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (status === 'failed' && failed.length === 0) return []
    for (const { fullName, failureMessages } of failed) {
      const message = failureMessages.join('\n').split('\n').slice(0, 12).join('\n  ')
      failures.push({ file: relative(root, path), name: fullName, message })
    }
  }
  return failures
}

export function timedTests(report: Report, root: string): readonly TimedTest[] {
  return report.testResults.flatMap(({ name: path, assertionResults }) =>
    assertionResults.map(({ fullName, duration }) => ({
      file: relative(root, path),
      name: fullName,
      milliseconds: duration ?? 0,
    })),
  )
}

/** Returns the ten slowest tests as lines, the slowest first. */
export function describeSlowest(tests: readonly TimedTest[]): readonly string[] {
  return tests
    .toSorted((a, b) => b.milliseconds - a.milliseconds)
    .slice(0, LISTED)
    .map(({ file, name, milliseconds }) => {
      const title = name.replaceAll(/\s+/g, ' ').slice(0, 100)
      return `${(milliseconds / 1000).toFixed(1).padStart(7)} s  ${file}  ${title}`
    })
}

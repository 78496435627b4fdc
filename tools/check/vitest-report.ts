import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'

/** The parts of Vitest's JSON report that the checks use. */
export interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    /** Why the file failed outside of its tests: an import, or a hook. */
    readonly message?: string
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

/** Returns the failed tests. A file that failed in an import or a hook counts as one: its own tests then did not run. */
export function failedTests(report: Report, root: string): readonly FailedTest[] {
  return report.testResults.flatMap(({ name: path, status, message = '', assertionResults }) => {
    const file = relative(root, path)
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (status === 'failed' && failed.length === 0)
      return [{ file, name: 'outside of its tests', message: firstLines(message) }]
    return failed.map(({ fullName, failureMessages }) => ({
      file,
      name: fullName,
      message: firstLines(failureMessages.join('\n')),
    }))
  })
}

function firstLines(message: string): string {
  return message.split('\n').slice(0, 12).join('\n  ')
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

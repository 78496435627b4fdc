import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'

/**
 * `npm run check`: everything that decides whether a change may stay. Every step runs, also after a failure; the last
 * line is always `N passed, N failed`, the sum of the tests and of the steps that are not made of tests.
 */

interface Count {
  readonly passed: number
  readonly failed: number
}

interface Step {
  readonly name: string
  readonly command: readonly [string, ...string[]]
  /** What a reader types to see it again. */
  readonly repeat: string
  /** Counts single tests in what the step left behind; undefined when it left no numbers. */
  readonly count?: (output: string) => Promise<Count | undefined>
  /** The name of the report that Vitest writes; its failed files run a second time. */
  readonly report?: string
}

interface FailedTest {
  readonly file: string
  readonly name: string
  readonly message: string
}

interface Ended {
  readonly isGood: boolean
  readonly output: string
}

const ROOT = join(import.meta.dirname, '..')
const STEP_LIMIT_MS = 22 * 60_000
/** Up to this many failed files run a second time, alone (docs/decisions/0029). */
const MOST_SECOND_RUNS = 3
/** So many characters of the output of a failed test run are printed: its summary stands at the end. */
const MOST_OUTPUT = 20_000
const scratch = await mkdtemp(join(tmpdir(), 'chancery-check-'))
const SOURCES = '--conditions=development'

const STEPS: readonly Step[] = [
  { name: 'format', command: ['oxfmt', '--check', '.'], repeat: 'npx oxfmt --check .   (mend: npm run format)' },
  {
    name: 'lint',
    command: ['oxlint', '--type-aware', '--deny-warnings'],
    repeat: 'npx oxlint --type-aware   (mend: add --fix)',
  },
  { name: 'types', command: ['tsc', '-b'], repeat: 'npx tsc -b' },
  {
    name: 'console',
    command: ['tsc', '-p', 'apps/console'],
    repeat: 'npx tsc -p apps/console',
  },
  { name: 'imports', command: ['node', 'tools/check-imports.ts'], repeat: 'npx node tools/check-imports.ts' },
  {
    name: 'generated',
    command: ['node', SOURCES, 'tools/generate.ts', '--check'],
    repeat: 'npm run generate -- --check   (mend: npm run generate)',
  },
  {
    name: 'docs',
    command: ['node', 'tools/docs.ts', 'build', 'check'],
    repeat: 'npm run docs:build && npm run docs:check',
  },
  {
    name: 'tests',
    // One more than there are cores: a test that waits for a database leaves its core to another.
    command: vitest('tests', ['--project=packages', '--project=sqlite', '--project=postgres', '--maxWorkers=3']),
    repeat: 'npx vitest run <file>   (all: npm test)',
    count: () => countReport('tests'),
    report: 'tests',
  },
  {
    name: 'whole',
    // They start whole services and browsers and mostly wait for them: two at a time use the cores well.
    command: vitest('whole', ['--project=console', '--project=e2e', '--maxWorkers=2']),
    repeat: 'npx vitest run <file>   (all: npm test)',
    count: () => countReport('whole'),
    report: 'whole',
  },
  {
    name: 'browser',
    command: ['node', SOURCES, 'tools/test-browser.ts'],
    repeat: 'npm run test:browser',
    count: (output) => Promise.resolve(countLine(output)),
  },
]

function reportOf(name: string): string {
  return join(scratch, `${name}.json`)
}

function vitest(name: string, options: readonly string[]): Step['command'] {
  return ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportOf(name)}`, ...options]
}

async function main(): Promise<number> {
  const steps = chooseSteps()
  if (steps === undefined) return 2
  let total: Count = { passed: 0, failed: 0 }
  for (const step of steps) {
    const count = await runStep(step)
    total = { passed: total.passed + count.passed, failed: total.failed + count.failed }
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed`)
  return total.failed === 0 ? 0 : 1
}

/** All steps, or those of `--only lint,types`. */
function chooseSteps(): readonly Step[] | undefined {
  const { only } = parseArgs({ options: { only: { type: 'string' } } }).values
  if (only === undefined) return STEPS
  const names = only.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name))
  if (unknown.length === 0) return STEPS.filter((step) => names.includes(step.name))
  console.error(`no step ${unknown.join(', ')}; there are: ${STEPS.map((step) => step.name).join(', ')}`)
  return undefined
}

async function runStep(step: Step): Promise<Count> {
  const started = performance.now()
  const { isGood, output } = await run(step.command)
  // An error outside of every test is never run again: a second run could miss it.
  const isCounted = step.report !== undefined && !output.includes('Unhandled Error')
  const failures = isGood || !isCounted ? [] : await failedTests(step.report)
  const isGoodAlone = failures.length > 0 && (await runAlone(step, failures))
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const counted = await step.count?.(output)
  const tests = isGoodAlone && counted !== undefined ? allPassed(counted) : counted
  const numbers = tests === undefined ? '' : `  ${tests.passed} passed, ${tests.failed} failed`
  const isAccepted = isGood || isGoodAlone
  console.log(`${isAccepted ? 'ok    ' : 'FAILED'} ${step.name.padEnd(10)} ${seconds.padStart(6)} s${numbers}`)
  for (const { file, name, message } of failures) {
    console.log(`${isGoodAlone ? 'failed, and passed when run alone' : 'failed'}: ${file}\n  ${name}\n  ${message}`)
  }
  if (!isAccepted) console.log(`\n${shorten(step, output)}\n\nrepeat with: ${step.repeat}\n`)
  // A step that fails has at least one failure, also when it broke before its first test.
  return { passed: tests?.passed ?? (isAccepted ? 1 : 0), failed: Math.max(tests?.failed ?? 0, isAccepted ? 0 : 1) }
}

function allPassed({ passed, failed }: Count): Count {
  return { passed: passed + failed, failed: 0 }
}

/** Runs the files of failed tests again with nothing beside them. False when there are too many, or one fails again. */
async function runAlone(step: Step, failures: readonly FailedTest[]): Promise<boolean> {
  const files = [...new Set(failures.map(({ file }) => file))]
  if (files.length > MOST_SECOND_RUNS) return false
  const [program, ...args] = step.command
  const options = args.filter((arg) => !/^--(reporter|outputFile|maxWorkers)/.test(arg))
  const { isGood } = await run([program, ...options, '--reporter=default', '--maxWorkers=1', ...files])
  return isGood
}

/** The failed tests of a report. None when a file broke outside of its tests: that is never run again. */
async function failedTests(report: string): Promise<readonly FailedTest[]> {
  const read = await readReport(report)
  if (read === undefined) return []
  const failures: FailedTest[] = []
  for (const { name: path, status, assertionResults } of read.testResults) {
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (status === 'failed' && failed.length === 0) return []
    for (const { fullName, failureMessages } of failed) {
      const message = failureMessages.join('\n').split('\n').slice(0, 12).join('\n  ')
      failures.push({ file: relative(ROOT, path), name: fullName, message })
    }
  }
  return failures
}

/** What Vitest printed, without the thousands of lines about tests that passed. */
function shorten(step: Step, output: string): string {
  const text = output.trimEnd()
  return step.report === undefined ? text : text.slice(-MOST_OUTPUT)
}

function run([program, ...args]: Step['command']): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, NO_COLOR: '1' }
    const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: STEP_LIMIT_MS })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    const text = (): string => stripVTControlCharacters(Buffer.concat(chunks).toString('utf8'))
    child.on('error', (error) => resolve({ isGood: false, output: `${text()}\n${program}: ${error.message}` }))
    child.on('close', (code, signal) =>
      resolve({ isGood: code === 0, output: signal === null ? text() : `${text()}\nended by ${signal}` }),
    )
  })
}

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

async function readReport(name: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await readFile(reportOf(name), 'utf8')) as Report
  } catch {
    // No report: the run broke, and its exit code says so.
    return undefined
  }
}

async function countReport(name: string): Promise<Count | undefined> {
  const report = await readReport(name)
  return report && { passed: report.numPassedTests, failed: report.numFailedTests }
}

function countLine(output: string): Count | undefined {
  const found = /^(\d+) passed, (\d+) failed$/m.exec(output)
  return found === null ? undefined : { passed: Number(found[1]), failed: Number(found[2]) }
}

try {
  process.exitCode = await main()
} finally {
  await rm(scratch, { recursive: true, force: true })
}

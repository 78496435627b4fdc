import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
}

interface Ended {
  readonly isGood: boolean
  readonly output: string
}

const ROOT = join(import.meta.dirname, '..')
const STEP_LIMIT_MS = 22 * 60_000
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
    // On both cores: these mostly compute.
    command: vitest('tests', ['--project=packages', '--project=sqlite', '--project=postgres', '--maxWorkers=2']),
    repeat: 'npx vitest run <file>   (all: npm test)',
    count: () => countReport('tests'),
  },
  {
    name: 'whole',
    // One after the other: they start whole services and browsers, and measure their patience in seconds.
    command: vitest('whole', ['--project=console', '--project=e2e', '--maxWorkers=1']),
    repeat: 'npx vitest run <file>   (all: npm test)',
    count: () => countReport('whole'),
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
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const tests = await step.count?.(output)
  const numbers = tests === undefined ? '' : `  ${tests.passed} passed, ${tests.failed} failed`
  console.log(`${isGood ? 'ok    ' : 'FAILED'} ${step.name.padEnd(10)} ${seconds.padStart(6)} s${numbers}`)
  if (!isGood) console.log(`\n${output.trimEnd()}\n\nrepeat with: ${step.repeat}\n`)
  // A step that fails has at least one failure, also when it broke before its first test.
  return { passed: tests?.passed ?? (isGood ? 1 : 0), failed: Math.max(tests?.failed ?? 0, isGood ? 0 : 1) }
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

async function countReport(name: string): Promise<Count | undefined> {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(await readFile(reportOf(name), 'utf8')) as Record<
      string,
      number
    >
    return { passed: numPassedTests ?? 0, failed: numFailedTests ?? 0 }
  } catch {
    // No report: the run broke, and its exit code says so.
    return undefined
  }
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

import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, childProcessorSeconds, runCommand } from './run-command.ts'
import { runSteps } from './run-steps.ts'
import { type Step, type Tier, stepsOf } from './tiers.ts'
import { type FailedTest, describeSlowest, failedTests, readReport, timedTests } from './vitest-report.ts'

/**
 * `npm run check`, `check:quick` and `check:nightly`: run the steps of a tier. Every step runs, also after a failure.
 * The last line is always `N passed, N failed`, the sum of the tests and of the steps that are not made of tests. A step
 * that lacks a program counts as neither: the line before it names it.
 */

interface Count {
  readonly passed: number
  readonly failed: number
  /** The step that could not run. */
  readonly notRun?: string
}

/** A hanging step is ended after this time. */
const MAX_STEP_SECONDS = 22 * 60
/** Up to this many failed files run a second time, alone (docs/decisions/0029). */
const MOST_SECOND_RUNS = 3
/** The number of characters of a failed test run that are printed. */
const MOST_OUTPUT = 12_000
/** A tier fails when it takes this many times its limit. */
const TOLERANCE = 1.2

async function main(folder: string): Promise<number> {
  const { only, tier: name } = parseArgs({
    options: { only: { type: 'string' }, tier: { type: 'string', default: 'check' } },
  }).values
  const tier = stepsOf(name, folder)
  if (tier === undefined) {
    console.error(`Unknown tier ${name}. Use quick, check or nightly.`)
    return 2
  }
  const steps = chooseSteps(tier.steps, only)
  if (steps === undefined) return 2
  const started = performance.now()
  const counts = await runSteps(steps, runStep)
  const sum = (each: 'passed' | 'failed'): number => counts.reduce((all, count) => all + count[each], 0)
  const total: Count = { passed: sum('passed'), failed: sum('failed') }
  const seconds = (performance.now() - started) / 1000
  console.log(`${name}: ${seconds.toFixed(0)} s`)
  const isLate = only === undefined && isOverLimit(name, seconds, tier)
  const notRun = counts.flatMap((count) => count.notRun ?? [])
  if (notRun.length > 0) console.log(`\n${notRun.length} not run: ${notRun.join(', ')}`)
  console.log(`\n${total.passed} passed, ${total.failed + (isLate ? 1 : 0)} failed`)
  return total.failed === 0 && !isLate ? 0 : 1
}

/** Returns all steps, or those of `--only lint,types`. */
function chooseSteps(steps: readonly Step[], only: string | undefined): readonly Step[] | undefined {
  if (only === undefined) return steps
  const names = only.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !steps.some((step) => step.name === name))
  if (unknown.length === 0) return steps.filter((step) => names.includes(step.name))
  console.error(`Unknown step ${unknown.join(', ')}. Use: ${steps.map((step) => step.name).join(', ')}.`)
  return undefined
}

async function runStep(step: Step): Promise<Count> {
  // The processor seconds of two steps that run at a time cannot be separated.
  const [started, processorBefore] = [performance.now(), step.isPaired ? undefined : childProcessorSeconds()]
  const { isGood, isRun, output } = await runCommand(step.command, step.maxSeconds ?? MAX_STEP_SECONDS)
  if (!isRun) {
    console.log(`not run ${step.name}: ${output.trimEnd().split('\n').at(-1) ?? ''}`)
    return { passed: 0, failed: 0, notRun: step.name }
  }
  const seconds = (performance.now() - started) / 1000
  const processor = processorBefore === undefined ? undefined : (childProcessorSeconds() ?? 0) - processorBefore
  const report = step.report === undefined ? undefined : await readReport(step.report)
  const failures = isGood || report === undefined ? [] : failedTests(report, ROOT)
  // An unhandled error belongs to no file, so no file gets a second run: that run could miss the error.
  const canRepeat = failures.length > 0 && !output.includes('Unhandled Error')
  const isGoodAlone = canRepeat && (await runAlone(step, failures))
  const isAccepted = isGood || isGoodAlone
  const counted = report ? { passed: report.numPassedTests, failed: report.numFailedTests } : countLine(step, output)
  const tests = isGoodAlone && counted ? { passed: counted.passed + counted.failed, failed: 0 } : counted
  const numbers = tests === undefined ? '' : `  ${tests.passed} passed, ${tests.failed} failed`
  const times = `${seconds.toFixed(1).padStart(6)} s${processor === undefined ? '' : ` (${processor.toFixed(0)} s CPU)`}`
  console.log(`${isAccepted ? 'ok    ' : 'FAILED'} ${step.name.padEnd(10)} ${times}${numbers}`)
  for (const { file, name, message } of failures) {
    console.log(`${isGoodAlone ? 'failed, and passed when run alone' : 'failed'}: ${file}\n  ${name}\n  ${message}`)
  }
  if (report !== undefined) console.log(`slowest tests:\n${describeSlowest(timedTests(report, ROOT)).join('\n')}`)
  if (!isAccepted) {
    const text = step.report === undefined ? output.trimEnd() : summaryOf(output.trimEnd())
    console.log(`\n${text}\n\nrepeat with: ${step.repeat}\n`)
  }
  const isLate = isOverLimit(step.name, seconds, step)
  // A step that fails has at least one failure, also when it broke before its first test.
  const failed = Math.max(tests?.failed ?? 0, isAccepted ? 0 : 1) + (isLate ? 1 : 0)
  return { passed: tests?.passed ?? (isAccepted ? 1 : 0), failed }
}

/** Returns what Vitest prints after the thousands of lines about tests that passed. */
function summaryOf(output: string): string {
  const start = output.search(/^.*(?:Failed (?:Suites|Tests)|Unhandled Errors?) .*$/m)
  return start === -1 ? output.slice(-MOST_OUTPUT) : output.slice(start, start + MOST_OUTPUT)
}

/** Reports a tier that takes too long. One core or a loaded machine proves nothing, so there it does not fail. */
function isOverLimit(name: string, seconds: number, { limitSeconds }: Pick<Tier, 'limitSeconds'>): boolean {
  if (limitSeconds === undefined || seconds <= limitSeconds * TOLERANCE) return false
  const isEnforced = availableParallelism() > 1 && process.env['CHANCERY_CHECK_LIMITS'] !== 'off'
  const advice = isEnforced ? 'On a loaded machine set CHANCERY_CHECK_LIMITS=off.' : 'Not counted as a failure here.'
  console.log(`${name} took ${seconds.toFixed(0)} s. Its limit is ${limitSeconds} s and 20 %. ${advice}`)
  return isEnforced
}

/** Runs the files of failed tests again, one at a time. False when there are too many, or one fails again. */
async function runAlone(step: Step, failures: readonly FailedTest[]): Promise<boolean> {
  const files = [...new Set(failures.map(({ file }) => file))]
  if (files.length > MOST_SECOND_RUNS) return false
  const [program, ...args] = step.command
  const options = args.filter((arg) => arg === 'run' || /^--(?!reporter|outputFile|maxWorkers)/.test(arg))
  const { isGood } = await runCommand(
    [program, ...options, '--reporter=default', '--maxWorkers=1', ...files],
    MAX_STEP_SECONDS,
  )
  return isGood
}

function countLine({ isCounted }: Step, output: string): Count | undefined {
  const found = isCounted ? /^(\d+) passed, (\d+) failed$/m.exec(output) : null
  return found === null ? undefined : { passed: Number(found[1]), failed: Number(found[2]) }
}

const folder = await mkdtemp(join(tmpdir(), 'chancery-check-'))
try {
  process.exitCode = await main(folder)
} finally {
  await rm(folder, { recursive: true, force: true })
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { round } from '../lib/statistics.ts'

/** Of a program that ends by itself. */
export interface Ended {
  readonly cpuSeconds: number
  readonly wallSeconds: number
  readonly peakMib: number
}

/** Of a program that waits for work. */
export interface Idle {
  readonly startSeconds: number
  /** All pages that it has in memory, also those of the Node.js file, which all programs share. */
  readonly rssMib: number
  /** Shared pages count in part: with n programs, one n-th each. */
  readonly pssMib: number
  readonly ownMib: number
}

export interface Program {
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly directory: string
}

const START_SECONDS = 120
const STEP_MS = 20
/** Until background work of the start has ended. */
const SETTLE_MS = 15_000

/**
 * Loaded first: writes the figures of the process to a separate pipe at the end. The peak is that of the kernel's
 * status file, because the one of getrusage begins with the memory of the process that started it.
 */
const REPORT = `data:text/javascript,${encodeURIComponent(`
const { readFileSync, writeSync } = process.getBuiltinModule('node:fs')
process.once('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  const peak = /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1]
  writeSync(3, JSON.stringify([(userCPUTime + systemCPUTime) / 1e6, peak / 1024]))
})`)}`

/** Runs a program to its end, which has to be the expected one. */
export async function runToEnd({ args, env, directory }: Program, expected: number): Promise<Ended> {
  const started = performance.now()
  const child = spawn(process.execPath, ['--import', REPORT, ...args], {
    env: { ...cleanEnvironment(), ...env },
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    timeout: START_SECONDS * 1000,
  })
  const [said, report] = await Promise.all([text(child.stderr as Readable), text(child.stdio[3] as Readable)])
  if (child.exitCode === null) await once(child, 'exit')
  const wallSeconds = round((performance.now() - started) / 1000)
  if (child.exitCode !== expected) throw new Error(`${args.join(' ')} ended with ${child.exitCode}: ${said}`)
  const [cpuSeconds = 0, peakMib = 0] = JSON.parse(report) as readonly number[]
  return { cpuSeconds: round(cpuSeconds), wallSeconds, peakMib: round(peakMib, 1) }
}

/** Starts a program, waits until it serves and then until it is idle, and stops it. */
export async function measureIdle(program: Program, isReady: (output: string) => Promise<boolean>): Promise<Idle> {
  const started = performance.now()
  const child = spawn(process.execPath, program.args, {
    env: { ...cleanEnvironment(), ...program.env },
    cwd: program.directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  try {
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => (output += part))
    while (!(await isReady(output))) {
      const line = program.args.join(' ')
      if (!isRunning(child)) throw new Error(`${line} ended (${child.exitCode ?? child.signalCode}): ${output}`)
      if (performance.now() - started > START_SECONDS * 1000) throw new Error(`${line} does not serve: ${output}`)
      await pause(STEP_MS)
    }
    const startSeconds = round((performance.now() - started) / 1000)
    await pause(SETTLE_MS)
    return { startSeconds, ...(await readMemory(child.pid ?? 0)) }
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

async function readMemory(pid: number): Promise<Omit<Idle, 'startSeconds'>> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  const mib = (name: string): number =>
    round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) / 1024, 1)
  return { rssMib: mib('Rss'), pssMib: mib('Pss'), ownMib: mib('Anonymous') }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

/** Settings of the shell would become settings of the programs. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], NODE_ENV: 'production' }
}

import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from '@chancery/testkit'
import { type Task, firstHourPage, readTasks } from './first-hour-page.ts'

/**
 * `npm run docs:first-hour`: runs the commands of first-hour.json in one shell against the built program, measures the
 * seconds of each task in three runs and writes docs/first-hour.md.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const PAGE = join(ROOT, 'docs/first-hour.md')
const PORTS = ['8443', '8444']

/** Returns one script. It prints the time before and after the typed commands of each task. */
function toScript(tasks: readonly Task[]): string {
  const parts = tasks.map(({ before, typed, wait }, index) =>
    [before ?? ':', `mark ${index} from`, ...typed, wait ?? ':', `mark ${index} to`].join('\n'),
  )
  const head = [
    'set -euo pipefail',
    "trap 'kill $(jobs -p) $(cat na/authority.pid) 2> /dev/null || true' EXIT",
    'mark() { echo "::: $1 $2 $EPOCHREALTIME"; }',
  ]
  return [...head, ...parts].join('\n')
}

async function measure(tasks: readonly Task[]): Promise<readonly number[]> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-first-hour-'))
  try {
    let script = toScript(tasks)
    for (const port of PORTS) script = script.replaceAll(port, String(await freePort()))
    const { code, output } = await runScript(script, folder)
    if (code !== 0) throw new Error(`the commands failed:\n${output}`)
    const marks = new Map(
      [...output.matchAll(/^::: (\d+ \w+) ([\d.]+)$/gm)].map(([, name, time]) => [name, Number(time)]),
    )
    return tasks.map((_, index) => (marks.get(`${index} to`) ?? 0) - (marks.get(`${index} from`) ?? 0))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function runScript(script: string, cwd: string): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const path = [join(ROOT, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter)
    const env = { PATH: path, HOME: cwd, NO_COLOR: '1' }
    const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => void (output += chunk.toString()))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

const tasks = readTasks()
const runs = [await measure(tasks), await measure(tasks), await measure(tasks)]
const seconds = tasks.map((_, index) => {
  const times = runs.map((run) => run[index] ?? 0)
  return `${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)}`
})
const day = new Date().toISOString().slice(0, 10)
writeFileSync(PAGE, firstHourPage(seconds, `on ${day}, Node.js ${process.version}, ${cpus().length} shared cores`))
console.log(readFileSync(PAGE, 'utf8'))

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missing, readSteps } from './runnable-pages.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const EXAMPLE = join(ROOT, 'examples', 'agent-tools')
const SCRIPT = join(EXAMPLE, 'run.sh')
const PORTS = ['PORT_HARBOUR', 'PORT_NORTHWIND', 'PORT_GATEWAY', 'PORT_CHECK', 'PORT_NGINX', 'PORT_TOOLS']
/** The script uses about 42 s of processor time. A loaded machine needs longer for it. */
const LIMIT_MS = 280_000
const steps = readSteps(readFileSync(join(EXAMPLE, 'README.md'), 'utf8'))

interface Ran {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

let folder: string
let ran: Ran
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-agent-tools-'))
  const ports: Record<string, string> = {}
  for (const name of PORTS) ports[name] = String(await freePort())
  ran = await runScript(join(folder, 'work'), ports)
}, 300_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs the script as a reader does, with other ports. */
function runScript(into: string, ports: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const env = {
    ...ports,
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/chancery-pages'),
  }
  return new Promise((resolve, reject) => {
    // Alone in its group, so that nothing it started is left behind when it takes too long.
    const child = spawn('bash', [SCRIPT, into], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let [output, errors] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => void (errors += chunk.toString()))
    const limit = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), LIMIT_MS)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(limit)
      resolve({ code, output, errors })
    })
  })
}

describe('examples/agent-tools/run.sh', () => {
  it('runs from the first step to the last', () => {
    const errors = ran.code === 0 ? '' : `${ran.output}\n${ran.errors}`
    expect({ code: ran.code, errors }).toEqual({ code: 0, errors: '' })
  })

  it('runs the steps of its page, and no others', () => {
    const titles = [...ran.output.matchAll(/^== (.+)$/gm)].map(([, title]) => title)
    expect(titles).toEqual(steps.map(({ title }) => title))
  })

  it.each(steps)('"$title" prints what the page shows', ({ title, ...step }) => {
    const output = ran.output.split(`== ${title}\n`)[1]?.split('\n== ')[0] ?? ''
    expect(step.promised.length).toBeGreaterThan(0)
    expect({ missing: missing(step.promised, output), output }).toEqual({ missing: undefined, output })
  })

  it('leaves no program running', async () => {
    const log = await readFile(join(folder, 'work/harbour.log'), 'utf8')
    expect(log).toContain('stopped')
    const gateway = Number(await readFile(join(folder, 'work/gateway/gateway.pid'), 'utf8'))
    expect(() => process.kill(gateway, 0)).toThrow('ESRCH')
  })
})

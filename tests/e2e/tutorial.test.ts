import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const TUTORIAL = join(ROOT, 'docs', 'tutorial', 'first-network.md')
const LIMIT_MS = 120_000

interface Step {
  readonly title: string
  readonly commands: string
  /** The lines under "You see". */
  readonly promised: readonly string[]
}

/** Every `sh run` block with the `text` block that follows it before the next one. */
function readSteps(markdown: string): readonly Step[] {
  const blocks = [...markdown.matchAll(/^## (.+)$|^```(sh run|text)\n([\s\S]*?)^```$/gm)]
  const steps: Step[] = []
  let title = ''
  for (const [, heading, kind, text = ''] of blocks) {
    if (heading !== undefined) title = heading
    else if (kind === 'sh run') steps.push({ title, commands: text, promised: [] })
    else steps.push({ ...(steps.pop() as Step), promised: text.trimEnd().split('\n') })
  }
  return steps
}

/** The promised lines stand in the output, in their order; … stands for anything, whole lines included. */
function missing(promised: readonly string[], output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trimEnd())
  let at = 0
  for (const promise of promised) {
    if (promise.trim() === '…' || promise === '') continue
    const parts = promise.split('…').map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    const pattern = new RegExp(`^\\s*${parts.join('.*')}\\s*$`)
    const found = lines.findIndex((line, index) => index >= at && pattern.test(line))
    if (found === -1) return promise
    at = found + 1
  }
  return undefined
}

const MARK = '::: step '

/** One shell for all steps, as a reader would have it: what runs in the background stays, and a failure ends it. */
function toScript(steps: readonly Step[], port: number): string {
  const body = steps.map(({ commands }, index) => `echo '${MARK}${index}'\n${commands}`)
  // A pipe keeps nobody alive: whatever is still running at the end is ended, by its id.
  const head = "set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT"
  return [head, ...body].join('\n').replaceAll('8443', String(port))
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface Ran {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

function runScript(script: string, folder: string): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const path = [join(ROOT, 'node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter)
    // A home of its own: a configuration of the person who runs the test must not play a part.
    const env = { PATH: path, HOME: folder, NO_COLOR: '1' }
    // Alone in its group, so that nothing it started is left behind when it takes too long.
    const child = spawn('bash', ['-c', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
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

const steps = readSteps(await readFile(TUTORIAL, 'utf8'))

describe('docs/tutorial/first-network.md', () => {
  let folder: string
  let outputs: readonly string[]
  let ran: Ran
  const port = { test: 0 }

  beforeAll(async () => {
    if (!existsSync(join(ROOT, 'apps', 'cli', 'dist', 'main.js'))) throw new Error('build first: npm run build')
    folder = await mkdtemp(join(tmpdir(), 'chancery-tutorial-'))
    port.test = await freePort()
    ran = await runScript(toScript(steps, port.test), folder)
    outputs = ran.output.split(new RegExp(`^${MARK}\\d+\\n`, 'm')).slice(1)
  }, LIMIT_MS + 10_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('runs from the first command to the last', () => {
    expect({ code: ran.code, errors: ran.code === 0 ? '' : ran.errors, steps: outputs.length }).toEqual({
      code: 0,
      errors: '',
      steps: steps.length,
    })
  })

  it.each(steps.map((step, index) => [step.title, index] as const))('"%s" prints what it promises', (_title, index) => {
    const { promised } = steps[index] as Step
    expect(promised.length).toBeGreaterThan(0)
    const output = (outputs[index] ?? '').replaceAll(String(port.test), '8443')
    expect({ missing: missing(promised, output), output }).toEqual({ missing: undefined, output })
  })

  it('leaves the authority stopped cleanly, and secrets in no log', async () => {
    const log = await readFile(join(folder, 'authority.log'), 'utf8')
    const token = (await readFile(join(folder, 'invite.token'), 'utf8')).trim()
    expect(token).toHaveLength(43)
    expect(log).not.toContain(token)
    expect(ran.output + ran.errors).not.toContain(token)
    const events = (await readFile(join(folder, 'node.log'), 'utf8')).trimEnd().split('\n')
    expect(events.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(
      expect.arrayContaining(['started', 'heartbeat', 'crl', 'stopped']),
    )
  })

  it('is found to be wrong when it is wrong', () => {
    expect(missing(['a … c', '…', 'd'], 'x\na b c\ny\nd\n')).toBeUndefined()
    expect(missing(['d', 'a … c'], 'a b c\nd\n')).toBe('a … c')
    expect(missing(['a (b)'], 'a b\n')).toBe('a (b)')
  })
})

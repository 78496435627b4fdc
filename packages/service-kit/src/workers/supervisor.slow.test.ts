import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'

interface Line {
  readonly event: string
  readonly worker?: number
  readonly pid?: number
  readonly port?: number
}

const PATIENT = { timeout: 50_000 }
let kill: () => void = () => undefined
afterEach(() => kill())

function run(fails: 'no' | 'first' | 'later') {
  const file = fileURLToPath(new URL('supervised.suite.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=development', file, fails], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  kill = () => child.kill('SIGKILL')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const exited = new Promise<number | string | null>((done) => child.on('exit', (code, signal) => done(signal ?? code)))
  const lines = (event: string): Line[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.event === event)
  const serving = (): number[] => lines('worker serves').map(({ pid }) => pid ?? 0)
  return { child, exited, lines, serving }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('supervised workers', () => {
  it('share one port, are replaced after kill -9, ignore their own signals, and stop together', async () => {
    const { child, exited, lines, serving } = run('no')
    await expect.poll(() => serving().length, PATIENT).toBe(2)
    expect(new Set(lines('listens').map(({ port }) => port)).size).toBe(1)
    const url = `http://127.0.0.1:${lines('listens')[0]?.port}`
    const answers = new Set<string>()
    await expect
      .poll(async () => {
        answers.add(await (await fetch(url, { headers: { connection: 'close' } })).text())
        return answers.size
      }, PATIENT)
      .toBe(2)
    const [first = 0, second = 0] = serving()
    process.kill(second, 'SIGTERM')
    process.kill(first, 'SIGKILL')
    await expect.poll(() => serving().length, PATIENT).toBe(3)
    expect(lines('a worker ended; another one is started')).toMatchObject([{ worker: 1, pid: first }])
    expect(isAlive(second)).toBe(true)
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
    expect(serving().filter(isAlive)).toEqual([])
  })

  it('leave no caller waiting whose connection they did not take before their end', async () => {
    const { child, exited, lines, serving } = run('no')
    await expect.poll(() => serving().length, PATIENT).toBe(2)
    const [first = 0] = serving()
    process.kill(first, 'SIGSTOP')
    const url = `http://127.0.0.1:${lines('listens')[0]?.port}`
    let settled = 0
    // In turn: one of them is given to the worker that does not take it.
    for (let call = 0; call < 4; call += 1)
      void fetch(url, { headers: { connection: 'close' } }).then(
        () => (settled += 1),
        () => (settled += 1),
      )
    await expect.poll(() => settled, PATIENT).toBe(3)
    process.kill(first, 'SIGKILL')
    await expect.poll(() => settled, PATIENT).toBe(4)
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
  })

  it('end when their supervisor is killed', async () => {
    const { child, exited, serving } = run('no')
    await expect.poll(() => serving().length, PATIENT).toBe(2)
    child.kill('SIGKILL')
    await exited
    await expect.poll(() => serving().filter(isAlive), PATIENT).toEqual([])
  })

  it('give up at once when the first one does not start', async () => {
    const { exited, lines } = run('first')
    expect(await exited).toBe(78)
    expect(lines('start failed')).toHaveLength(1)
    expect(lines('workers do not start: correct the error that they report, then start again')).toHaveLength(1)
  })

  it('give up after five failed starts while none serves', async () => {
    const { exited, lines, serving } = run('later')
    await expect.poll(() => serving().length, PATIENT).toBe(2)
    for (const pid of serving()) process.kill(pid, 'SIGKILL')
    expect(await exited).toBe(1)
    expect(lines('workers do not start: correct the error that they report, then start again')).toHaveLength(1)
    expect(lines('start failed').length).toBeGreaterThanOrEqual(5)
  })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { COMPILE_CACHE } from './compile-cache.ts'
import { freePort } from './temporary-postgres.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'src', 'main.ts')

export interface DemoProcess {
  readonly url: string
  /** Private key file of the operator, as the demo names it. */
  readonly keyFile: string
  readonly notes: () => string
  /** Its exit code. */
  stop(): Promise<number>
}

/** Starts `chancery demo --static` in a separate process: its records do not change by themselves. */
export async function startDemo(home: string, nodes: number): Promise<DemoProcess> {
  return startDemoWith(home, ['--static', '--nodes', String(nodes)])
}

/** Starts `chancery demo --two`, which uses three ports. */
export function startTwoCompanies(home: string): Promise<DemoProcess> {
  return startDemoWith(home, ['--two'])
}

/** Starts `chancery demo` with these options on a free port. With `continued` it uses the port of an earlier start. */
export async function startDemoWith(
  home: string,
  more: readonly string[],
  continued?: DemoProcess,
): Promise<DemoProcess> {
  const url = continued?.url ?? `http://127.0.0.1:${await freePort()}`
  const port = continued === undefined ? ['--port', new URL(url).port] : []
  const child = spawn(
    process.execPath,
    ['--conditions=development', PROGRAM, 'demo', '--home', home, ...port, ...more],
    { env: { ...process.env, ...COMPILE_CACHE }, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const exited = once(child, 'exit')
  let notes = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      notes += chunk.toString('utf8')
      if (notes.includes('Press Ctrl-C to stop')) resolve()
    })
    child.on('exit', () => reject(new Error(`the demo ended: ${notes}`)))
  })
  return {
    url,
    keyFile: join(home, 'keys', 'operator.key'),
    notes: () => notes,
    async stop() {
      child.kill('SIGTERM')
      return Number((await exited)[0])
    },
  }
}

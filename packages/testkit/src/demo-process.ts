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

/** Starts `chancery demo` with data in a separate process. */
export async function startDemo(home: string, nodes: number): Promise<DemoProcess> {
  return startDemoAt(home, await freePort(), ['--nodes', String(nodes)])
}

/** Starts `chancery demo --two`, which uses three ports. */
export async function startTwoCompanies(home: string): Promise<DemoProcess> {
  return startDemoAt(home, await freePort(), ['--two'])
}

async function startDemoAt(home: string, port: number, more: readonly string[]): Promise<DemoProcess> {
  const child = spawn(
    process.execPath,
    ['--conditions=development', PROGRAM, 'demo', '--home', home, '--port', String(port), ...more],
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
    url: `http://127.0.0.1:${port}`,
    keyFile: join(home, 'keys', 'operator.key'),
    notes: () => notes,
    async stop() {
      child.kill('SIGTERM')
      return Number((await exited)[0])
    },
  }
}

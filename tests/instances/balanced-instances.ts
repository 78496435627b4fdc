import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, send } from '@chancery/testkit'
import { startBalancer } from './balancer.ts'

export type Settings = Readonly<Record<string, string>>

/** An instance ended before it was ready. */
export class InstanceEndedError extends Error {
  override readonly name = 'InstanceEndedError'
  readonly code: number

  constructor(code: number) {
    super(`an instance ended at its start with ${code}`)
    this.code = code
  }
}

export interface BalancedInstances {
  readonly url: string
  /** Addresses of the instances, without the balancer. */
  readonly instanceUrls: readonly string[]
  /**
   * Sends SIGTERM and starts the instance again on the same port, with the release of `tree` if given; resolves when it
   * is ready. Returns the exit code.
   */
  restart(index: number, tree?: string): Promise<number>
  /** Resolves with the first exit code that is not 0, or 0. */
  stop(): Promise<number>
}

const READY_ATTEMPTS = 1200

/** The folder of these sources. */
const OWN_TREE = join(import.meta.dirname, '..', '..')

/** Several instances of one authority on PostgreSQL and Redis behind a real balancer on HOST and PORT. */
export async function startBalancedInstances(
  settings: Settings,
  count = 3,
  firstTree: string = OWN_TREE,
): Promise<BalancedInstances> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-instances-'))
  const host = settings['HOST'] ?? '127.0.0.1'
  const port = Number(settings['PORT'] ?? (await freePort()))
  const ports: number[] = []
  for (let index = 0; index < count; index += 1) ports.push(await freePort())
  const urls = ports.map((each) => `http://127.0.0.1:${each}`)
  const start = async (index: number, tree: string): Promise<ChildProcess> => {
    const file = join(folder, `na${index + 1}.env`)
    await writeFile(file, writeEnv(instanceSettings(settings, folder, index, ports[index] ?? 0)), { mode: 0o600 })
    return startInstance(tree, file, urls[index] ?? '')
  }
  const children: ChildProcess[] = []
  const stopAll = async (): Promise<number> => {
    const codes = await Promise.all(children.map((child) => stopInstance(child)))
    await rm(folder, { recursive: true, force: true })
    return codes.find((code) => code !== 0) ?? 0
  }
  try {
    // All start at once: the first one migrates under a lock, and the others wait for it.
    const started = await Promise.allSettled(ports.map((_, index) => start(index, firstTree)))
    for (const outcome of started) if (outcome.status === 'fulfilled') children.push(outcome.value)
    for (const outcome of started) if (outcome.status === 'rejected') throw outcome.reason
    const balancer = await startBalancer({ folder, host, port, upstream: ports })
    const url = `http://${host}:${port}`
    await answering(url, '/readyz', () => undefined)
    return {
      url,
      instanceUrls: urls,
      async restart(index, tree = firstTree) {
        const child = children[index]
        const code = child === undefined ? 0 : await stopInstance(child)
        children[index] = await start(index, tree)
        await answering(urls[index] ?? '', '/readyz', () => undefined)
        return code
      },
      async stop() {
        const code = await stopAll()
        await balancer.stop()
        return code
      },
    }
  } catch (error) {
    await stopAll()
    throw error
  }
}

/** Returns the settings of the file, with separate names, ports and marks for the instances. */
function instanceSettings(settings: Settings, folder: string, index: number, port: number): Settings {
  return {
    NA_DRAIN_SECONDS: '1',
    REDIS_URL: process.env['CHANCERY_TEST_REDIS'] ?? 'redis://127.0.0.1:6379',
    NA_HIGH_WATER_FILES: [1, 2].map((place) => join(folder, `na${index + 1}-${place}.mark`)).join(','),
    ...settings,
    NA_HA_MODE: 'on',
    NA_PROXY_HOPS: '1',
    NA_INSTANCE_ID: `na${index + 1}`,
    HOST: '127.0.0.1',
    PORT: String(port),
  }
}

function writeEnv(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/**
 * Starts the process in a separate process group, so that it gets a signal to the parent only once, from the parent.
 * Runs sources or the build, like this process.
 */
async function startInstance(tree: string, file: string, url: string): Promise<ChildProcess> {
  const child = fork(join(tree, 'tests', 'instances', 'instance.ts'), [file], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await answering(url, '/healthz', () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new InstanceEndedError(child.exitCode ?? 1)
  })
  return child
}

/** Resolves when the path returns 200; `check` may end the wait by throwing. */
async function answering(url: string, path: string, check: () => void): Promise<void> {
  for (let attempt = 0; attempt < READY_ATTEMPTS; attempt += 1) {
    check()
    const answer = await send(url, 'GET', path).catch(() => undefined)
    if (answer?.status === 200) return
    await pause(25)
  }
  throw new InstanceEndedError(1)
}

async function stopInstance(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? 1
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = await ended
  return typeof code === 'number' ? code : 1
}

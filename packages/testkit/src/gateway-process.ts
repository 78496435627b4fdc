import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE } from './compile-cache.ts'
import { type GatewayRequest, type GatewayResponse, sendGatewayRequest } from './start-gateway.ts'
import { freePort } from './temporary-postgres.ts'

/** Starts a gateway from sources in a separate process, which a test can kill. */
export interface GatewayProcess {
  readonly url: string
  readonly pid: number
  /** Resolves with the signal or exit code. */
  readonly exited: Promise<string | number>
  request(method: string, path: string, options?: GatewayRequest): Promise<GatewayResponse>
  /** SIGHUP: it reads its policy again. */
  reload(): void
  /** kill -9. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** Undefined when it ended before it served; a fault may lie that early. A free port unless one is given. */
export async function startGatewayProcess(
  env: Readonly<Record<string, string>>,
  givenPort?: number,
): Promise<GatewayProcess | undefined> {
  const port = givenPort ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const child = fork(fileURLToPath(new URL(`gateway-process-main.${extension}`, import.meta.url)), [], {
    env: { ...COMPILE_CACHE, GATEWAY_DRAIN_SECONDS: '0', ...env, GATEWAY_ADDR: `127.0.0.1:${port}` },
    execArgv: ['--conditions=development'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const exited = once(child, 'exit').then(([code, signal]) => (signal as string | null) ?? (code as number))
  for (let tries = 0; ; tries += 1) {
    if (child.exitCode !== null || child.signalCode !== null) return undefined
    const answer = await sendGatewayRequest(url, 'GET', '/health', {}).catch(() => undefined)
    if (answer?.status === 200) break
    if (tries > 1200) throw new Error('the gateway did not start')
    await pause(25)
  }
  return {
    url,
    pid: child.pid ?? 0,
    exited,
    request: (method, path, options = {}) => sendGatewayRequest(url, method, path, options),
    reload: () => void child.kill('SIGHUP'),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

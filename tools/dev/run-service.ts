import { spawn } from 'node:child_process'

/** npm passes on the signal that the terminal also sends, so one Ctrl-C arrives twice. */
const SAME_KEY_PRESS_MS = 1000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a service until it ends, and returns its exit code. SIGINT and SIGTERM are passed on once per key press: for a
 * service a second signal means «at once». A closed terminal (SIGHUP) stops it too. A service that ends by a signal
 * without a stop gives 1.
 */
export function runService(args: readonly string[], folder: string): Promise<number> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Out of the group of the terminal, which would send it the signal too.
    detached: true,
  })
  let stoppedAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (stoppedAt !== undefined && now - stoppedAt < SAME_KEY_PRESS_MS) return
    stoppedAt = now
    // The watcher of Node.js does not pass on SIGHUP.
    child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return new Promise((resolve) => {
    const end = (code: number): void => {
      for (const signal of SIGNALS) process.off(signal, onSignal)
      resolve(code)
    }
    child.on('error', (error) => {
      console.error(error.message)
      end(1)
    })
    child.on('exit', (code) => end(code ?? (stoppedAt === undefined ? 1 : 0)))
  })
}

import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'

/** Waits, or ends early when the signal aborts. Never rejects; the caller checks the signal. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

/** Source of stop signals, for example the process. */
export interface SignalSource {
  once(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
}

/**
 * Aborts at the first SIGTERM or SIGINT. Each is handled once: a second signal of the same kind ends the process as
 * usual.
 */
export function stopSignal(source: SignalSource): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const) source.once(name, () => controller.abort())
  return controller.signal
}

/** Returns the version of package.json, which is next to the sources and the build. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return /"version": *"([^"]+)"/.exec(text)?.[1] ?? 'unknown'
}

/**
 * Makes the platform prefer little memory to speed, until it is called with false. Otherwise the space for new objects
 * grows to 50 MB while modules are loaded, and an idle program keeps it.
 */
export function preferMemory(isPreferred: boolean): void {
  const { versions } = process
  // Bun has another engine, and Deno refuses the call.
  if (versions.bun !== undefined || versions['deno'] !== undefined) return
  setFlagsFromString(isPreferred ? '--optimize-for-size' : '--no-optimize-for-size')
}

/** Loads a service, which works at full speed afterwards. */
export async function loadService<Service>(load: () => Promise<Service>): Promise<Service> {
  preferMemory(true)
  try {
    return await load()
  } finally {
    preferMemory(false)
  }
}

import type { MaybePromise } from './steps.ts'

/** Waits, or returns early when the signal aborts. Never rejects: the caller checks the signal. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

/** Returns the result of `work`, or fails when it takes too long. The work itself continues without a caller. */
export async function inTime<Value>(work: MaybePromise<Value>, limitMs: number, late?: Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late ?? new TimeLimitError()), Math.max(0, limitMs))
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

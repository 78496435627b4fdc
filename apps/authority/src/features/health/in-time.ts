const TIME_LIMIT_MS = 1500

/** Limits the time, so that a hanging database is reported as not ready. */
export async function inTime<Value>(work: Promise<Value>, limitMs: number = TIME_LIMIT_MS): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeLimitError()), limitMs)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

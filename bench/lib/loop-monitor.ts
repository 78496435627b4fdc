/** Interval of the event loop measurement. */
const CHECK_MS = 2

/**
 * The longest block of the event loop: by the clock, which also counts other processes, and by the processor time of
 * its own thread, which is the work of the server without a pause.
 */
class EventLoopMonitor {
  #clockMs = 0
  #ownMs = 0

  start(): void {
    let [at, own] = [performance.now(), ownMs()]
    setInterval(() => {
      const [now, ownNow] = [performance.now(), ownMs()]
      this.#clockMs = Math.max(this.#clockMs, now - at - CHECK_MS)
      this.#ownMs = Math.max(this.#ownMs, ownNow - own)
      ;[at, own] = [now, ownNow]
    }, CHECK_MS).unref()
  }

  take(): { readonly clockMs: number; readonly ownMs: number } {
    const taken = { clockMs: this.#clockMs, ownMs: this.#ownMs }
    ;[this.#clockMs, this.#ownMs] = [0, 0]
    return taken
  }
}

function ownMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Answers over the channel; the first request only starts the measurement. */
export function answerLoopBlocks(): void {
  let watch: EventLoopMonitor | undefined
  process.on('message', () => {
    if (watch === undefined) {
      watch = new EventLoopMonitor()
      watch.start()
    }
    process.send?.(watch.take())
  })
  // The channel alone does not keep the process running.
  process.channel?.unref()
}

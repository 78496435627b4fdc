import { commands } from '@chancery/gateway'

/** How often the loop is looked at. */
const CHECK_MS = 2

// The runner is gone, however it ended: a benchmark must leave no server behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

/**
 * The longest the event loop was held: by the clock, which also counts what other processes took, and by the processor
 * time of its own thread, which is what the gateway itself did in one go.
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

// Asked over the channel; the first question only begins to watch.
let watch: EventLoopMonitor | undefined
process.on('message', () => {
  if (watch === undefined) {
    watch = new EventLoopMonitor()
    watch.start()
  }
  process.send?.(watch.take())
})
// The channel alone keeps no gateway alive.
process.channel?.unref()

process.exitCode = await commands.start({ action: 'start', json: false, online: false })

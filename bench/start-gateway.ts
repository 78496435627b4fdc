import { monitorEventLoopDelay } from 'node:perf_hooks'
import { commands } from '@chancery/gateway'

/** The monitor counts its own pause along; it is taken off. */
const RESOLUTION_MS = 5

// The runner is gone, however it ended: a benchmark must leave no server behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

// Asked over the channel: the longest the event loop was held since the last question, in milliseconds.
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
process.on('message', () => {
  process.send?.({ heldMs: Math.max(0, delay.max / 1_000_000 - RESOLUTION_MS) })
  delay.reset()
  delay.enable()
})
// The channel alone keeps no gateway alive.
process.channel?.unref()

process.exitCode = await commands.start({ action: 'start', json: false, online: false })

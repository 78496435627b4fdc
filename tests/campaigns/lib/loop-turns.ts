import { existsSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded first in a process whose event loop is measured: the processor time of its main thread between two turns, which
 * other processes of the machine do not change, and the delay as the clock shows it. Without the file, both begin again.
 */
const file = process.env['CHANCERY_LOOP_FILE']
// Threads load it too; theirs may be busy for long.
if (file !== undefined && isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const busyMs = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let [longest, before] = [0, busyMs()]
  setInterval(() => {
    const now = busyMs()
    longest = Math.max(longest, now - before)
    before = now
  }, 2).unref()
  setInterval(() => {
    if (!existsSync(file)) {
      longest = 0
      delay.reset()
    }
    const [delay_p99, delay_max] = [delay.percentile(99) / 1e6, delay.max / 1e6]
    writeFileSync(file, JSON.stringify({ longest_turn_ms: longest, delay_p99_ms: delay_p99, delay_max_ms: delay_max }))
  }, 200).unref()
}

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../system.ts'
import type { Histogram, Metrics } from './registry.ts'

const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15] as const
const STATUSES = Array.from({ length: 500 }, (_, index) => String(100 + index))

export interface RequestMetrics {
  /** One completed request. The route is its id in the route table, never its path. */
  observe(route: string, status: number, seconds: number): void
}

/** Durations by route and status. An unknown route id is counted as `other`. */
export function createRequestMetrics(metrics: Metrics, routeIds: readonly string[]): RequestMetrics {
  const histogram = metrics.histogram({
    name: 'chancery_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its response.',
    buckets: SECONDS_BUCKETS,
    labels: { route: routeIds, status: STATUSES },
  })
  // By route and status, found without building a name: this runs for every request.
  const series = new Map<string, Histogram[]>([...routeIds, 'other'].map((route) => [route, []]))
  return {
    observe: (route, status, seconds) => {
      const ofRoute = series.get(route) ?? series.get('other') ?? []
      ofRoute[status] ??= histogram.with({ route, status: String(status) })
      ofRoute[status].observe(seconds)
    },
  }
}

export interface ProcessMetrics {
  /** 99th percentile of the event loop delay, in seconds, over at least the last 30 seconds. */
  eventLoopDelayP99(): number
  /** Share of the heap limit in use, from 0 to 1. Above 0.85 requests are refused (reliability 14). */
  heapUse(): number
  stop(): void
}

const RESOLUTION_MS = 10
const PERIOD_MS = 30_000

/** Registers the process gauges. Stop it when the service closes. */
export function collectProcessMetrics(metrics: Metrics, clock: Clock): ProcessMetrics {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  let periodStart = clock.monotonicMs()
  let previous = 0
  const eventLoopDelayP99 = (): number => {
    // The monitor measures the time between two timer ticks. The timer interval itself is not delay.
    const current = Math.max(0, delays.percentile(99) / 1e6 - RESOLUTION_MS) / 1000
    const answer = Math.max(previous, current)
    const now = clock.monotonicMs()
    if (now - periodStart >= PERIOD_MS) {
      delays.reset()
      previous = current
      periodStart = now
    }
    return answer
  }
  metrics.gauge({
    name: 'chancery_event_loop_delay_p99_seconds',
    help: '99th percentile of the event loop delay over at least the last 30 seconds.',
    together: 'max',
    collect: eventLoopDelayP99,
  })
  metrics.gauge({
    name: 'chancery_process_resident_memory_bytes',
    help: 'Resident memory of the process; of all workers together.',
    together: 'sum',
    collect: () => process.memoryUsage.rss(),
  })
  metrics.gauge({
    name: 'chancery_process_heap_used_bytes',
    help: 'Heap in use by the process; of all workers together.',
    together: 'sum',
    collect: () => getHeapStatistics().used_heap_size,
  })
  metrics.gauge({
    name: 'chancery_process_heap_limit_bytes',
    help: 'Heap the process may use at most; of all workers together.',
    together: 'sum',
    collect: () => getHeapStatistics().heap_size_limit,
  })
  return {
    eventLoopDelayP99,
    heapUse: () => {
      const heap = getHeapStatistics()
      return heap.used_heap_size / heap.heap_size_limit
    },
    stop: () => {
      delays.disable()
    },
  }
}

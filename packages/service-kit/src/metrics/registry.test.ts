import { afterEach, describe, expect, it, vi } from 'vitest'
import { METRICS_CONTENT_TYPE, Metrics } from './registry.ts'
import { createRequestMetrics, collectProcessMetrics } from './service-metrics.ts'

function valueOf(rendered: string, series: string): number | undefined {
  const line = rendered.split('\n').find((candidate) => candidate.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1).replace('Nan', 'NaN'))
}

describe('Metrics', () => {
  it('renders each metric with HELP and TYPE', async () => {
    const metrics = new Metrics()
    metrics.counter({ name: 'failures_total', help: 'Failures since start.' }).increase()
    metrics.gauge({ name: 'sequence', help: 'Latest number.' }).set(7)
    const rendered = await metrics.render()
    expect(rendered).toContain(
      '# HELP failures_total Failures since start.\n# TYPE failures_total counter\nfailures_total 1\n',
    )
    expect(rendered).toContain('# HELP sequence Latest number.\n# TYPE sequence gauge\nsequence 7\n')
    expect(metrics.contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(METRICS_CONTENT_TYPE).toBe(metrics.contentType)
  })

  it('shows zero before anything happened', async () => {
    const metrics = new Metrics()
    metrics.counter({ name: 'a_total', help: 'a' })
    expect(valueOf(await metrics.render(), 'a_total')).toBe(0)
  })

  it('shows zero for a label from the moment it is bound', async () => {
    const metrics = new Metrics()
    metrics.counter({ name: 'a_total', help: 'a', labels: { job: ['x'] } }).with({ job: 'x' })
    expect(valueOf(await metrics.render(), 'a_total{job="x"}')).toBe(0)
  })

  it('has only its own metrics, and shares none with another registry', async () => {
    const first = new Metrics()
    const second = new Metrics()
    first.counter({ name: 'a_total', help: 'a' }).increase(2)
    second.counter({ name: 'a_total', help: 'a' })
    expect(valueOf(await first.render(), 'a_total')).toBe(2)
    expect(valueOf(await second.render(), 'a_total')).toBe(0)
    expect(await second.render()).not.toContain('nodejs_')
  })

  it('counts label values outside their set as other', async () => {
    const metrics = new Metrics()
    const counter = metrics.counter({ name: 'a_total', help: 'a', labels: { outcome: ['ok', 'failed'] } })
    counter.with({ outcome: 'ok' }).increase()
    counter.with({ outcome: 'ok' }).increase(2)
    for (const value of ['x', 'y', '__proto__', '']) counter.with({ outcome: value as 'ok' }).increase()
    const rendered = await metrics.render()
    expect(valueOf(rendered, 'a_total{outcome="ok"}')).toBe(3)
    expect(valueOf(rendered, 'a_total{outcome="other"}')).toBe(4)
    expect(rendered.match(/^a_total\{/gm)).toHaveLength(2)
  })

  it('counts each combination of labels separately', async () => {
    const metrics = new Metrics()
    const gauge = metrics.gauge({ name: 'g', help: 'g', labels: { a: ['x', 'y'], b: ['x', 'y'] } })
    gauge.with({ a: 'x', b: 'y' }).set(1)
    gauge.with({ a: 'y', b: 'x' }).set(2)
    const rendered = await metrics.render()
    expect(valueOf(rendered, 'g{a="x",b="y"}')).toBe(1)
    expect(valueOf(rendered, 'g{a="y",b="x"}')).toBe(2)
  })

  it('reads collected gauges at each rendering', async () => {
    const metrics = new Metrics()
    let value = 1
    metrics.gauge({ name: 'g', help: 'g', collect: async () => value })
    expect(valueOf(await metrics.render(), 'g')).toBe(1)
    value = 2
    expect(valueOf(await metrics.render(), 'g')).toBe(2)
  })

  describe('a value that hangs', () => {
    afterEach(() => {
      vi.useRealTimers()
    })

    it('is NaN after three seconds, hides no other metric, and is not read again meanwhile', async () => {
      vi.useFakeTimers()
      const metrics = new Metrics()
      const answers: ((value: number) => void)[] = []
      metrics.gauge({ name: 'hangs', help: 'h', collect: () => new Promise((resolve) => void answers.push(resolve)) })
      metrics.gauge({ name: 'answers', help: 'a', collect: () => 7 })
      for (let scrape = 0; scrape < 2; scrape += 1) {
        const rendering = metrics.render()
        await vi.advanceTimersByTimeAsync(3000)
        const rendered = await rendering
        expect(valueOf(rendered, 'hangs')).toBeNaN()
        expect(valueOf(rendered, 'answers')).toBe(7)
      }
      expect(answers).toHaveLength(1)
      answers[0]?.(3)
      await vi.advanceTimersByTimeAsync(0)
      const rendering = metrics.render()
      await vi.advanceTimersByTimeAsync(0)
      answers[1]?.(4)
      const rendered = await rendering
      expect(valueOf(rendered, 'hangs')).toBe(4)
      expect(valueOf(rendered, 'chancery_metric_failures_total')).toBe(2)
    })
  })

  it('shows no stale value when collecting fails, counts it, and still renders the rest', async () => {
    const metrics = new Metrics()
    let fail = false
    const collect = (): Promise<number> => (fail ? Promise.reject(new Error('down')) : Promise.resolve(5))
    metrics.gauge({ name: 'g', help: 'g', collect })
    metrics.gauge({ name: 'h', help: 'h' }).set(1)
    expect(valueOf(await metrics.render(), 'g')).toBe(5)
    fail = true
    const rendered = await metrics.render()
    expect(valueOf(rendered, 'g')).toBeNaN()
    expect(valueOf(rendered, 'h')).toBe(1)
    expect(valueOf(await metrics.render(), 'chancery_metric_failures_total')).toBeGreaterThanOrEqual(1)
  })

  it.each(['gauge', 'counter'] as const)(
    'shows no series of a %s whose rows cannot be read, but all other metrics',
    async (kind) => {
      const metrics = new Metrics()
      let fail = false
      metrics.rows({
        name: 'r',
        help: 'r',
        kind,
        labels: ['a'],
        collect: async () => {
          if (fail) throw new Error('down')
          return [{ labels: { a: 'x' }, value: 5 }]
        },
      })
      metrics.gauge({ name: 'h', help: 'h' }).set(1)
      expect(valueOf(await metrics.render(), 'r{a="x"}')).toBe(5)
      fail = true
      const rendered = await metrics.render()
      expect(rendered).not.toContain('r{a="x"}')
      expect(valueOf(rendered, 'h')).toBe(1)
      expect(valueOf(await metrics.render(), 'chancery_metric_failures_total')).toBeGreaterThanOrEqual(1)
    },
  )

  it('shows no series of a metric without labels that has no row', async () => {
    const metrics = new Metrics()
    let rows: { readonly labels: Record<string, string>; readonly value: number }[] = []
    metrics.rows({ name: 'r', help: 'r', kind: 'gauge', labels: [], collect: () => rows })
    expect(await metrics.render()).not.toMatch(/^r /m)
    rows = [{ labels: {}, value: 7 }]
    expect(valueOf(await metrics.render(), 'r')).toBe(7)
    rows = []
    expect(await metrics.render()).not.toMatch(/^r /m)
  })

  it('sorts observations into buckets', async () => {
    const metrics = new Metrics()
    const histogram = metrics.histogram({ name: 'h', help: 'h', buckets: [1, 2] })
    for (const value of [0.5, 1.5, 9]) histogram.observe(value)
    const rendered = await metrics.render()
    expect(valueOf(rendered, 'h_bucket{le="1"}')).toBe(1)
    expect(valueOf(rendered, 'h_bucket{le="2"}')).toBe(2)
    expect(valueOf(rendered, 'h_bucket{le="+Inf"}')).toBe(3)
    expect(valueOf(rendered, 'h_count')).toBe(3)
  })
})

describe('createRequestMetrics', () => {
  it('counts by route id and status; unknown ones as other', async () => {
    const metrics = new Metrics()
    const requests = createRequestMetrics(metrics, ['things.list'])
    requests.observe('things.list', 200, 0.002)
    requests.observe('things.list', 404, 0.002)
    requests.observe('/things/<script>', 404, 0.002)
    requests.observe('things.list', 9999, 0.002)
    const rendered = await metrics.render()
    const count = (route: string, status: string): number | undefined =>
      valueOf(rendered, `chancery_http_request_duration_seconds_count{route="${route}",status="${status}"}`)
    expect(count('things.list', '200')).toBe(1)
    expect(count('things.list', '404')).toBe(1)
    expect(count('other', '404')).toBe(1)
    expect(count('things.list', 'other')).toBe(1)
    expect(rendered).not.toContain('script')
  })
})

describe('collectProcessMetrics', () => {
  it('shows memory and heap of the process', async () => {
    const metrics = new Metrics()
    const watch = collectProcessMetrics(metrics, { now: () => 0n, monotonicMs: () => 0 })
    const rendered = await metrics.render()
    watch.stop()
    expect(valueOf(rendered, 'chancery_process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
    expect(valueOf(rendered, 'chancery_process_heap_used_bytes')).toBeGreaterThan(1_000_000)
    expect(watch.heapUse()).toBeGreaterThan(0)
    expect(watch.heapUse()).toBeLessThan(1)
  })

  it('shows a blocked event loop in its period and the next one only', async () => {
    let now = 0
    const watch = collectProcessMetrics(new Metrics(), { now: () => 0n, monotonicMs: () => now })
    const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60))
    await turns()
    const end = performance.now() + 600
    while (performance.now() < end);
    await turns()
    const blocked = watch.eventLoopDelayP99()
    expect(blocked).toBeGreaterThan(0.5)
    now = 31_000
    expect(watch.eventLoopDelayP99()).toBe(blocked)
    await turns()
    expect(watch.eventLoopDelayP99()).toBe(blocked)
    now = 62_000
    expect(watch.eventLoopDelayP99()).toBe(blocked)
    await turns()
    expect(watch.eventLoopDelayP99()).toBeLessThan(0.5)
    watch.stop()
  })
})

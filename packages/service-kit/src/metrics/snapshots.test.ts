import { expect, it } from 'vitest'
import { Metrics } from './registry.ts'
import { addGrowing } from './snapshots.ts'

function metricsOf(requests: number, depth: number): Metrics {
  const metrics = new Metrics()
  metrics.counter({ name: 'requests_total', help: 'Requests.' }).increase(requests)
  metrics.histogram({ name: 'seconds', help: 'Durations.', buckets: [1, 2] }).observe(1.5)
  metrics.gauge({ name: 'connections', help: 'Open.', together: 'sum', collect: () => depth })
  metrics.gauge({ name: 'delay', help: 'Delay.', together: 'max', collect: () => depth })
  metrics.gauge({ name: 'rows', help: 'From the database.', collect: () => depth })
  metrics.gauge({ name: 'last', help: 'Set by a job.' }).set(depth)
  return metrics
}

it('renders the sums of several processes, each gauge by its meaning', async () => {
  const [scraped, other] = [metricsOf(5, 1), metricsOf(7, 4)]
  scraped.renderWith(async () => [await other.snapshot()])
  const text = await scraped.render()
  for (const line of ['requests_total 12', 'connections 5', 'delay 4', 'rows 1', 'last 4', 'seconds_count 2'])
    expect(text).toContain(`\n${line}\n`)
  expect(text).toContain('seconds_bucket{le="2"} 2')
  expect(text.match(/^# TYPE requests_total counter$/gm)).toHaveLength(1)
})

it('adds what an ended process counted, without its gauges', async () => {
  const ended = await addGrowing([await metricsOf(5, 1).snapshot(), await metricsOf(7, 4).snapshot()])
  expect(ended.map(({ name }) => name)).toEqual(['chancery_metric_failures_total', 'requests_total', 'seconds'])
  const scraped = metricsOf(1, 2)
  scraped.renderWith(async () => [ended])
  expect(await scraped.render()).toContain('\nrequests_total 13\n')
})

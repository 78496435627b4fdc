import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'

/** The metrics of one process as plain data. */
export type MetricSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[]

/** Adds the metrics of several processes, each by its own rule. */
export function addSnapshots(snapshots: readonly MetricSnapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots as unknown as object[])
}

/** Adds what only grows, so that the sums do not fall when a process ends. */
export function addGrowing(snapshots: readonly MetricSnapshot[]): Promise<MetricSnapshot> {
  const growing = snapshots.map((metrics) =>
    // prom-client has the type as a number in its declarations and as a text in its values.
    metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type))),
  )
  return addSnapshots(growing).getMetricsAsJSON()
}

import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from 'prom-client'
import type { Aggregator } from 'prom-client'
import type { MaybePromise } from '../async/steps.ts'
import { inTime } from '../async/sleep.ts'
import { type MetricSnapshot, addSnapshots } from './snapshots.ts'

/** Every label with all its possible values. Values chosen by callers could use memory without a limit. */
export type LabelSets = Readonly<Record<string, readonly string[]>>
export type LabelsOf<Sets extends LabelSets> = { readonly [Label in keyof Sets]: Sets[Label][number] }

export interface Counter {
  increase(by?: number): void
}
export interface Gauge {
  set(value: number): void
}
export interface Histogram {
  observe(value: number): void
}
/** A metric with labels; a value outside its set is counted under `other`. */
export interface Labelled<Sets extends LabelSets, Metric> {
  with(labels: LabelsOf<Sets>): Metric
}

export interface MetricFacts {
  readonly name: string
  readonly help: string
}
/**
 * What several worker processes report together. one: the value of the worker that renders, for values that all workers
 * read from one place. Counters and histograms are always added.
 */
export type Together = 'one' | 'sum' | 'max'

export interface GaugeFacts extends MetricFacts {
  /** Default: one for a gauge that is read at each rendering, else max. */
  readonly together?: Together
  /**
   * Called at each rendering, but not while the last call runs. When it fails or takes over three seconds, the gauge is
   * NaN: an old value would look current.
   */
  readonly collect?: () => number | Promise<number>
}
/** Help, value and, when it is not `one`, what workers report together. */
export type ReadGauges = Readonly<
  Record<string, readonly [help: string, read: () => MaybePromise<number | undefined>, together?: Together]>
>
export interface HistogramFacts extends MetricFacts {
  /** Upper bounds in rising order. */
  readonly buckets: readonly number[]
}
/** One series of a metric. */
export interface MetricRow {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}
export interface RowsFacts extends MetricFacts {
  readonly kind: 'gauge' | 'counter'
  readonly labels: readonly string[]
  /** Default: one. */
  readonly together?: Together
  /** Called at each rendering. When it fails, the metric has no series. */
  readonly collect: () => Iterable<MetricRow> | Promise<Iterable<MetricRow>>
}
interface WithLabels<Sets extends LabelSets> {
  readonly labels: Sets
}

/** Content type of `GET /metrics` (protocol/core 22.2). */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The metrics of one service. Nothing is global, so one test process can run two services. */
export class Metrics {
  readonly contentType: string = METRICS_CONTENT_TYPE
  readonly #registry: Registry = new Registry()
  readonly #failures: Counter
  /** Metrics that only the rendering worker reports. */
  readonly #single = new Set<string>()
  #others: (() => Promise<readonly MetricSnapshot[]>) | undefined

  constructor() {
    this.#failures = this.counter({
      name: 'chancery_metric_failures_total',
      help: 'Values that could not be read while rendering metrics.',
    })
  }

  counter(facts: MetricFacts): Counter
  counter<const Sets extends LabelSets>(facts: MetricFacts & WithLabels<Sets>): Labelled<Sets, Counter>
  counter(facts: MetricFacts & Partial<WithLabels<LabelSets>>): Counter | Labelled<LabelSets, Counter> {
    const metric = new PromCounter({ ...this.#common(facts), labelNames: labelNames(facts) })
    if (facts.labels === undefined) return { increase: (by = 1) => metric.inc(by) }
    return labelled(facts.labels, (values) => {
      const one = metric.labels(values)
      // A series exists from the moment it is bound: one that appears with its first failure hides that failure from
      // rates.
      one.inc(0)
      return { increase: (by = 1) => one.inc(by) }
    })
  }

  gauge(facts: GaugeFacts): Gauge
  gauge<const Sets extends LabelSets>(
    facts: MetricFacts & Pick<GaugeFacts, 'together'> & WithLabels<Sets>,
  ): Labelled<Sets, Gauge>
  gauge(facts: GaugeFacts & Partial<WithLabels<LabelSets>>): Gauge | Labelled<LabelSets, Gauge> {
    const { collect } = facts
    const aggregator = this.#together(facts, facts.together ?? (collect === undefined ? 'max' : 'one'))
    const options = { ...this.#common(facts), aggregator, labelNames: labelNames(facts) }
    const ask = collect === undefined ? undefined : bounded(collect)
    const metric: PromGauge =
      ask === undefined
        ? new PromGauge(options)
        : new PromGauge({ ...options, collect: async () => metric.set(await this.#collected(ask, Number.NaN)) })
    if (facts.labels === undefined) return { set: (value) => metric.set(value) }
    return labelled(facts.labels, (values) => {
      const one = metric.labels(values)
      return { set: (value) => one.set(value) }
    })
  }

  /** Registers gauges that are read at each rendering, by name. Without a value they are NaN, which matches no alert. */
  readGauges(gauges: ReadGauges): void {
    for (const [name, [help, read, together = 'one']] of Object.entries(gauges))
      this.gauge({ name, help, together, collect: async () => (await read()) ?? Number.NaN })
  }

  histogram(facts: HistogramFacts): Histogram
  histogram<const Sets extends LabelSets>(facts: HistogramFacts & WithLabels<Sets>): Labelled<Sets, Histogram>
  histogram(facts: HistogramFacts & Partial<WithLabels<LabelSets>>): Histogram | Labelled<LabelSets, Histogram> {
    const metric = new PromHistogram({
      ...this.#common(facts),
      labelNames: labelNames(facts),
      buckets: [...facts.buckets],
    })
    if (facts.labels === undefined) return { observe: (value) => metric.observe(value) }
    return labelled(facts.labels, (values) => {
      const one = metric.labels(values)
      return { observe: (value) => one.observe(value) }
    })
  }

  /**
   * Series that are read at each rendering, for labels that change with the configuration. No label value may come from
   * a caller of the service.
   */
  rows(facts: RowsFacts): void {
    const aggregator = this.#together(facts, facts.together ?? 'one')
    const options = { ...this.#common(facts), aggregator, labelNames: [...facts.labels] }
    const ask = bounded(facts.collect)
    if (facts.kind === 'counter') {
      const metric: PromCounter = new PromCounter({
        ...options,
        collect: async () => {
          const rows = await this.#collected(ask, [])
          metric.reset()
          for (const { labels, value } of rows) metric.labels(labels).inc(value)
        },
      })
      return
    }
    const metric: PromGauge = new PromGauge({
      ...options,
      collect: async () => {
        const rows = await this.#collected(ask, [])
        metric.reset()
        // A reset leaves 0 when there are no labels, which would be a value where there is no row.
        if (facts.labels.length === 0) metric.remove()
        for (const { labels, value } of rows) metric.labels(labels).set(value)
      },
    })
  }

  /** The text exposition format, each metric with its HELP and TYPE lines. */
  async render(): Promise<string> {
    if (this.#others === undefined) return this.#registry.metrics()
    const [own, others] = await Promise.all([this.#registry.getMetricsAsJSON(), this.#others()])
    return addSnapshots([own, ...others]).metrics()
  }

  /** The values that are added to those of other processes. */
  async snapshot(): Promise<MetricSnapshot> {
    const metrics = this.#registry.getMetricsAsArray().filter(({ name }) => !this.#single.has(name))
    const values: MetricSnapshot[number][] = []
    for (const { name } of metrics) {
      const value = await this.#registry.getSingleMetric(name)?.get()
      if (value !== undefined) values.push(value)
    }
    return values
  }

  /** From now on a rendering shows the sums with the other processes of this service. */
  renderWith(others: () => Promise<readonly MetricSnapshot[]>): void {
    this.#others = others
  }

  #together({ name }: MetricFacts, together: Together): Aggregator {
    if (together !== 'one') return together
    this.#single.add(name)
    return 'first'
  }

  #common(facts: MetricFacts): { name: string; help: string; registers: Registry[] } {
    return { name: facts.name, help: facts.help, registers: [this.#registry] }
  }

  /** One unreadable value must not hide the other metrics. */
  async #collected<Value>(ask: () => Promise<Value>, failed: Value): Promise<Value> {
    try {
      return await ask()
    } catch {
      this.#failures.increase()
      return failed
    }
  }
}

/** Prometheus waits ten seconds for a scrape. A database that hangs must not hide the other metrics. */
const COLLECT_MS = 3000

/** Reads that hang do not accumulate: a later rendering waits for the read that is running. */
function bounded<Value>(collect: () => Value | Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | undefined
  return async () => {
    running ??= Promise.resolve()
      .then(collect)
      .finally(() => {
        running = undefined
      })
    return inTime(running, COLLECT_MS, new Error('the value was not read in time'))
  }
}

function labelNames(facts: Partial<WithLabels<LabelSets>>): string[] {
  return Object.keys(facts.labels ?? {})
}

function labelled<Metric>(
  sets: LabelSets,
  bind: (values: Record<string, string>) => Metric,
): Labelled<LabelSets, Metric> {
  const allowed = Object.entries(sets).map(([label, values]) => [label, new Set(values)] as const)
  // Bound once per combination, because binding costs more than counting.
  const bound = new Map<string, Metric>()
  return {
    with: (labels) => {
      let key = ''
      for (const [label, set] of allowed) key += `${valueIn(set, labels[label])}\0`
      let metric = bound.get(key)
      if (metric === undefined) {
        metric = bind(Object.fromEntries(allowed.map(([label, set]) => [label, valueIn(set, labels[label])])))
        bound.set(key, metric)
      }
      return metric
    },
  }
}

function valueIn(set: ReadonlySet<string>, value: string | undefined): string {
  return value !== undefined && set.has(value) ? value : 'other'
}

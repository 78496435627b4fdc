import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** A scrape target; `read` returns the text of /metrics and rejects when the target does not respond. */
export interface ScrapeTarget {
  readonly job: 'chancery-authority' | 'chancery-gateway'
  readonly instance: string
  read(): Promise<string>
}

/** Expected alerts at one scrape. */
interface Expectation {
  readonly scrape: number
  readonly when: string
  readonly firing: readonly string[]
  /** May fire or not. Every alert that is neither here nor in `firing` must not fire. */
  readonly allowed: readonly string[]
}

export const RULES = join(import.meta.dirname, '..', '..', '..', 'deploy', 'prometheus', 'alerts.yaml')
/** The interval of deploy/prometheus/prometheus.yaml. One scrape of a campaign counts as one of Prometheus. */
const STEP_SECONDS = 15
const SCRAPE_TIMEOUT_MS = 10_000
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/

/**
 * Scrapes real services before, during and after a fault, faster than Prometheus does. Then promtool evaluates the
 * deployed rules on the samples: each scrape is a sample of its series, 15 seconds after the one before.
 */
export class Alarms {
  readonly #names: ReadonlySet<string>
  readonly #targets: ScrapeTarget[]
  readonly #scrapes: ReadonlyMap<string, string>[] = []
  readonly #expectations: Expectation[] = []

  private constructor(names: ReadonlySet<string>, targets: readonly ScrapeTarget[]) {
    this.#names = names
    this.#targets = [...targets]
  }

  static async open(targets: readonly ScrapeTarget[]): Promise<Alarms> {
    const rules = await readFile(RULES, 'utf8')
    return new Alarms(new Set(rules.match(/\b(?:chancery|gateway)_[a-z0-9_]+/g)), targets)
  }

  /** Adds a target, such as an instance that was added to the scrape configuration. */
  add(target: ScrapeTarget): void {
    this.#targets.push(target)
  }

  /** Ends after `forMs` at the latest, also when scrapes take longer than `everyMs`. */
  async scrape(count: number, everyMs: number, forMs = Number.POSITIVE_INFINITY): Promise<void> {
    const end = performance.now() + forMs
    for (let done = 0; done < count && performance.now() < end; done += 1) {
      const next = performance.now() + everyMs
      const series = new Map<string, string>()
      await Promise.all(this.#targets.map((target) => this.#read(target, series)))
      this.#scrapes.push(series)
      await pause(Math.max(0, next - performance.now()))
    }
  }

  /** The samples of each series that a rule reads, one for each scrape; undefined where it had none. */
  samples(): ReadonlyMap<string, readonly (string | undefined)[]> {
    const names = new Set(this.#scrapes.flatMap((series) => [...series.keys()]))
    return new Map([...names].map((name) => [name, this.#scrapes.map((one) => one.get(name))]))
  }

  /** Expects exactly these alerts at the last scrape; `allowed` ones may also fire. */
  expect(when: string, firing: readonly string[], allowed: readonly string[] = []): void {
    this.#expectations.push({ scrape: this.#scrapes.length - 1, when, firing, allowed })
  }

  /** Returns one sentence for each alert that did not behave as expected. */
  async verdict(): Promise<string[]> {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-alarms-'))
    try {
      const found: string[] = []
      for (const expectation of this.#expectations)
        for (const test of toTests(expectation)) {
          const file = join(folder, 'test.yaml')
          // JSON is YAML.
          await writeFile(file, JSON.stringify(this.#unitTest(test)))
          const problem = await runPromtool(file)
          if (problem !== undefined) found.push(`${expectation.when}: ${test.sentence}: ${problem}`)
        }
      return found
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async #read(target: ScrapeTarget, series: Map<string, string>): Promise<void> {
    const own = `job="${target.job}",instance="${target.instance}"`
    const text = await Promise.race([target.read(), pause(SCRAPE_TIMEOUT_MS, undefined, { ref: false })]).catch(
      () => undefined,
    )
    series.set(`up{${own}}`, text === undefined ? '0' : '1')
    for (const line of text?.split('\n') ?? []) {
      const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
      if (!this.#names.has(name)) continue
      // Like Prometheus: labels of the target take precedence.
      const others = labels.replaceAll(/(^|,)(job|instance)="/g, '$1exported_$2="')
      series.set(`${name}{${own}${others === '' ? '' : `,${others}`}}`, toValue(value))
    }
  }

  #unitTest({ expr, at, samples }: AlertTest): unknown {
    const input = [...this.samples()].map(([series, values]) => ({ series, values: toValues(values) }))
    return {
      rule_files: [RULES],
      evaluation_interval: '30s',
      tests: [
        {
          interval: `${STEP_SECONDS}s`,
          input_series: input,
          promql_expr_test: [{ expr, eval_time: `${at * STEP_SECONDS}s`, exp_samples: samples }],
        },
      ],
    }
  }
}

interface AlertTest {
  readonly expr: string
  readonly at: number
  readonly samples: readonly { readonly labels: string; readonly value: number }[]
  readonly sentence: string
}

function toTests({ scrape, firing, allowed }: Expectation): AlertTest[] {
  const others = [...firing, ...allowed].join('|')
  return [
    ...firing.map((name) => ({
      expr: `group by (alertname) (ALERTS{alertstate="firing",alertname="${name}"})`,
      at: scrape,
      samples: [{ labels: `{alertname="${name}"}`, value: 1 }],
      sentence: `${name} does not fire`,
    })),
    {
      expr: `group by (alertname) (ALERTS{alertstate="firing",alertname!~"${others}"})`,
      at: scrape,
      samples: [],
      sentence: 'another alert fires',
    },
  ]
}

/** In the notation of promtool: `_` for no sample, and a stale mark where a series ends, as a failed scrape sets it. */
function toValues(values: readonly (string | undefined)[]): string {
  return values.map((value, index) => value ?? (values[index - 1] === undefined ? '_' : 'stale')).join(' ')
}

/** promtool does not read exponents after a sign. */
function toValue(text: string): string {
  const value = Number(text.replace('Inf', 'Infinity'))
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Inf' : '-Inf'
  return Number.isInteger(value) ? value.toFixed(0) : value.toFixed(9)
}

/** Returns undefined when the test passes, else the output of promtool. */
function runPromtool(file: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('promtool', ['test', 'rules', file], (error, stdout, stderr) => {
      if (error === null) return resolve(undefined)
      const text = `${stdout}\n${stderr}`
      const got = /got:\s*(.*)/.exec(text)?.[1]
      resolve(got === undefined ? text.trim().slice(0, 500) : `firing: ${got}`)
    })
  })
}

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Samples that Prometheus would have of one outage, as promtool reads them. */
export interface RecordedOutage {
  readonly name: string
  /** Seconds between two samples. */
  readonly interval: number
  /** Seconds from the first sample to the first of the outage, to the first after it, and to the last. */
  readonly begins: number
  readonly ends: number
  readonly lasts: number
  readonly series: Readonly<Record<string, string>>
}

export type Samples = ReadonlyMap<string, readonly (string | undefined)[]>

function fileOf(name: string): string {
  return join(import.meta.dirname, 'recorded', `${name}.json`)
}

export async function readOutage(name: string): Promise<RecordedOutage> {
  return JSON.parse(await readFile(fileOf(name), 'utf8')) as RecordedOutage
}

export async function writeOutage(outage: RecordedOutage): Promise<void> {
  await writeFile(fileOf(outage.name), `${JSON.stringify(outage, undefined, 2)}\n`)
}

/** Repeats the sample at `index`, as if the state had lasted longer. */
export function repeatSample(samples: Samples, index: number, times: number): Samples {
  return new Map(
    [...samples].map(([name, values]) => [
      name,
      [...values.slice(0, index), ...Array.from({ length: times }, () => values[index]), ...values.slice(index)],
    ]),
  )
}

/** Repeats the last samples, as if nothing more had happened. Counters stand still. */
export function repeatEnd(samples: Samples, count: number, times: number): Samples {
  return new Map(
    [...samples].map(([name, values]) => {
      const isCounter = /_(?:total|count)\{/.test(name)
      const end = values.slice(-count).map((value) => (isCounter ? values.at(-1) : value))
      return [name, [...values, ...Array.from({ length: times }, () => end).flat()]]
    }),
  )
}

/** Of the machine that records, which may be busy and has no standby, and not of the outage. */
const OF_MACHINE = /^(?:chancery_event_loop_delay_p99_seconds|chancery_sync_standbys)\{/

/** In the notation of promtool: a stale mark where a series ends, `_` for no sample, `1x3` for four times 1. */
export function toSeries(samples: Samples): Record<string, string> {
  const valued = [...samples].filter(
    // No rule fires on NaN.
    ([name, values]) => !OF_MACHINE.test(name) && values.some((value) => value !== undefined && value !== 'NaN'),
  )
  const sorted = valued.sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([name, values]) => [name, inShort(values.map(round))]))
}

function inShort(values: readonly (string | undefined)[]): string {
  const words = values.map((value, at) => value ?? (at > 0 && values[at - 1] !== undefined ? 'stale' : '_'))
  const runs: { readonly word: string; count: number }[] = []
  for (const word of words) {
    const last = runs.at(-1)
    // promtool repeats numbers and nothing, and no NaN.
    if (last?.word === word && (word === '_' || Number.isFinite(Number(word)))) last.count += 1
    else runs.push({ word, count: 1 })
  }
  // `_x3` is three times nothing.
  const repeated = (word: string, count: number): string => `${word}x${word === '_' ? count : count - 1}`
  return runs.map(({ word, count }) => (count === 1 ? word : repeated(word, count))).join(' ')
}

/** Shorter, so that the files are small. No bound of a rule needs more digits. */
function round(value: string | undefined): string | undefined {
  const number = Number(value)
  if (value === undefined || !Number.isFinite(number) || Number.isInteger(number)) return value
  return String(Math.abs(number) >= 10 ? Math.round(number) : Number(number.toFixed(2)))
}

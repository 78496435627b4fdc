import { type Instant, writeSortable } from '@chancery/protocol'
import { type Clock, systemClock } from '../system.ts'
import {
  describeChain,
  LOG_LEVELS,
  type LogFields,
  type LogLevel,
  type LogRecord,
  toEventText,
  toLogRecord,
} from './fields.ts'
import { DescriptorOutput, type LogDestination } from './output.ts'

const PAUSE_MS = 60_000
const MAX_TEXTS = 100

/**
 * While something outside is away, such as the database, every job and every request fails for the same cause. Of the
 * lines that say so, each event is written once a minute, with the number of those left out and without a stack.
 */
class OutageLines {
  readonly #isOutage: (error: Error) => boolean
  readonly #clock: Clock
  readonly #written = new Map<string, { readonly atMs: number; leftOut: number }>()

  constructor(isOutage: (error: Error) => boolean, clock: Clock) {
    this.#isOutage = isOutage
    this.#clock = clock
  }

  /** Returns what to do with an event about this error: write it as it is, leave it out, or write it in short. */
  take(event: string, error: unknown): 'as it is' | 'left out' | { readonly left_out: number | undefined } {
    if (!(error instanceof Error) || !this.#isOutage(error)) return 'as it is'
    const text = `${event}: ${describeChain(error)}`
    const nowMs = this.#clock.monotonicMs()
    const last = this.#written.get(text)
    if (last !== undefined && nowMs - last.atMs < PAUSE_MS) {
      last.leftOut += 1
      return 'left out'
    }
    // Texts of errors have addresses and names of the infrastructure only; the limit is for those that were not foreseen.
    if (last === undefined && this.#written.size >= MAX_TEXTS) this.#written.clear()
    this.#written.set(text, { atMs: nowMs, leftOut: 0 })
    return { left_out: last === undefined || last.leftOut === 0 ? undefined : last.leftOut }
  }
}

type WriteEvent = (event: string, fields?: LogFields) => void

/** The event is a fixed text to search for; everything that varies is a field. */
export interface Log {
  readonly trace: WriteEvent
  readonly debug: WriteEvent
  readonly info: WriteEvent
  readonly warn: WriteEvent
  readonly error: WriteEvent
  readonly fatal: WriteEvent
  /** A log that adds these fields to every event; an event's own field of the same name wins. */
  child(fields: LogFields): Log
  /** Writes queued lines. For use before the process ends. */
  flush(): void
}

export type LogFormat = 'json' | 'text'

export interface LogOptions {
  readonly level: LogLevel
  readonly format: LogFormat
  /** Standard output when absent. */
  readonly destination?: LogDestination
  readonly clock?: Clock
  /** Whether an error says that something outside is away, which every part of the service then reports. */
  readonly isOutage?: (error: Error) => boolean
}

interface Sink {
  readonly threshold: LogLevel
  readonly outages: OutageLines | undefined
  readonly write: (level: LogLevel, record: LogRecord) => void
  readonly flush: () => void
}

/** One line per event, UTC, with only the fields a call site named (reliability 10). */
export function createLog(options: LogOptions): Log {
  const destination = options.destination ?? new DescriptorOutput(1)
  const clock = options.clock ?? systemClock
  return makeLog(
    {
      threshold: options.level,
      outages: options.isOutage && new OutageLines(options.isOutage, clock),
      write: options.format === 'json' ? jsonWriter(destination, clock) : textWriter(destination, clock),
      flush: () => destination.flushSync?.(),
    },
    {},
  )
}

/** Writes nothing. For tests and tools. */
export const silentLog: Log = {
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  fatal: ignore,
  child: () => silentLog,
  flush: ignore,
}

function makeLog(sink: Sink, inherited: LogRecord): Log {
  const at = (level: LogLevel): WriteEvent => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(sink.threshold)) return ignore
    return (event, fields = {}) => {
      const found = level === 'fatal' ? 'as it is' : (sink.outages?.take(event, fields['error']) ?? 'as it is')
      if (found === 'left out') return
      const record = toLogRecord(level, fields, { event: toEventText(event), ...inherited })
      if (found !== 'as it is') {
        delete record['stack']
        if (found.left_out !== undefined) record['left_out'] = found.left_out
      }
      sink.write(level, record)
      // The process may end before an asynchronous write.
      if (level === 'fatal') sink.flush()
    }
  }
  return {
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
    child: (fields) => makeLog(sink, { ...inherited, ...toLogRecord('info', fields) }),
    flush: sink.flush,
  }
}

/**
 * A record is flat, has scalar values only, and its texts are already cut and escaped. So JSON.stringify can write it.
 */
function jsonWriter(destination: LogDestination, clock: Clock): Sink['write'] {
  const stamp = timeOf(clock)
  return (level, record) => {
    const members = JSON.stringify(record).slice(1)
    destination.write(`{"level":"${level}","time":"${stamp()}",${members}\n`)
  }
}

/** Caches the time text, because a busy service writes several lines per millisecond. */
function timeOf(clock: Clock): () => string {
  let at: Instant | undefined
  let text = ''
  return () => {
    const now = clock.now()
    if (now !== at) {
      text = writeSortable(now)
      at = now
    }
    return text
  }
}

function textWriter(destination: LogDestination, clock: Clock): Sink['write'] {
  return (level, record) => {
    const { event, stack, ...fields } = record
    const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${quoteWhereNeeded(String(value))}`)
    // Indented, so that no line of a stack looks like an event.
    const frames = typeof stack === 'string' && stack !== '' ? stack.split('\n').map((line) => `\n    ${line}`) : []
    const head = `${writeSortable(clock.now())} ${level.toUpperCase().padEnd(5)} ${String(event)}`
    destination.write(`${head}${pairs.join('')}${frames.join('')}\n`)
  }
}

function quoteWhereNeeded(value: string): string {
  return value === '' || /[\s"=]/.test(value) ? JSON.stringify(value) : value
}

function ignore(): void {}

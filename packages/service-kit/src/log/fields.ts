import { visible } from '@chancery/protocol'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'

/** In rising order. */
export const LOG_LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/**
 * Texts, numbers, booleans, null, and under `error` the thrown value. Fields are flat: an object could contain members
 * that were not chosen for the log (reliability 10), so only its kind is written.
 */
export type LogFields = { readonly [name: string]: unknown }

/** Fields as written: cut, escaped and redacted. */
export type LogRecord = Record<string, string | number | boolean | null>

const MAX_TEXT = 256
const MAX_STACK = 4096
const MAX_CAUSES = 4
const SECRET_WORDS = [
  'signature',
  'nonce',
  'token',
  'secret',
  'password',
  'seed',
  'private',
  'authorization',
  'cookie',
  'body',
] as const
/** Names that every event has. No field may use one of them. */
const RESERVED: ReadonlySet<string> = new Set(['time', 'level', 'event'])

/** Longest event text. */
export function toEventText(event: string): string {
  return visible(event, { maxLength: MAX_TEXT })
}

/**
 * Returns fields as they may be logged. An error under `error` gives its class, code, message and stack at error level; below that
 * only class and code, and the text of an error of the platform: messages of expected failures repeat what a caller
 * sent. They are put into `record`.
 */
export function toLogRecord(level: LogLevel, fields: LogFields, record: LogRecord = {}): LogRecord {
  for (const name of Object.keys(fields)) {
    const value = fields[name]
    if (value === undefined) continue
    const key = RESERVED.has(name) ? `${name}_` : name
    if (isSecretName(name)) record[key] = '[redacted]'
    else if (name === 'error' && value instanceof Error) Object.assign(record, describeError(level, value))
    else record[key] = toScalar(value)
  }
  return record
}

/** Returns the thrown value as an error that can be logged. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`thrown: ${typeof thrown === 'string' ? thrown : typeof thrown}`)
}

/** Results of the name check, cached. Call sites choose the names, so there are few; the size is still limited. */
const judgedNames = new Map<string, boolean>()
const MAX_JUDGED_NAMES = 1000

// Second protection: call sites choose their fields, and this check hides one that names a secret.
function isSecretName(name: string): boolean {
  const known = judgedNames.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  const isSecret = SECRET_WORDS.some((word) => lower.includes(word))
  if (judgedNames.size < MAX_JUDGED_NAMES) judgedNames.set(name, isSecret)
  return isSecret
}

function toScalar(value: unknown): string | number | boolean | null {
  if (typeof value === 'string') return visible(value, { maxLength: MAX_TEXT })
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean' || value === null) return value
  if (value instanceof Error) return visible(value.name, { maxLength: MAX_TEXT })
  return `[${typeof value}]`
}

function describeError(level: LogLevel, error: Error): LogRecord {
  const record: LogRecord = { error: visible(error.name, { maxLength: MAX_TEXT }) }
  const code = [error, ...causes(error)].map(codeOf).find((found) => found !== undefined)
  if (code !== undefined) record['error_code'] = visible(code, { maxLength: MAX_TEXT })
  const outer = [error, ...causes(error)].find(isOfPlatform)
  if (level === 'error' || level === 'fatal') {
    record['message'] = visible(error.message, { maxLength: MAX_TEXT })
    const stack = describeStack(error)
    if (stack !== '') record['stack'] = stack
  } else if (outer !== undefined) record['cause'] = visible(messageOf(outer), { maxLength: MAX_TEXT })
  return record
}

/**
 * Errors of the platform and of drivers for PostgreSQL and Redis have no separate class, and their texts say what
 * failed: `connect ECONNREFUSED 10.0.0.5:5432`, `Socket closed unexpectedly`. Ours have classes.
 */
function isOfPlatform({ name }: Error): boolean {
  return name === 'Error' || name === 'AggregateError'
}

/** Error codes of the platform and the database, such as `ECONNREFUSED` and `23505`. Never text of a caller. */
function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** What an error and its causes say, in one line: `PostgreSQL is unavailable: connect ECONNREFUSED 10.0.0.5:5432`. */
export function describeChain(error: Error): string {
  const texts = [error, ...causes(error)].map(messageOf).filter((text) => text !== '')
  return visible([...new Set(texts)].join(': '), { maxLength: MAX_TEXT })
}

/** A connection that was tried at several addresses has a message for each address, and no other. */
function messageOf(error: Error): string {
  if (!(error instanceof AggregateError) || error.message !== '') return error.message
  return error.errors.map((each: unknown) => toError(each).message).join(', ')
}

function causes(error: Error): Error[] {
  const found: Error[] = []
  let { cause } = error
  // Limited, because a chain of causes may be a circle.
  while (cause instanceof Error && found.length < MAX_CAUSES) {
    found.push(cause)
    cause = cause.cause
  }
  return found
}

/** Returns the frames, then each cause with its message, so that no message text looks like a frame. */
function describeStack(error: Error): string {
  // An expected error is no defect, so the place in the program says nothing to its reader.
  const framesOf = 'isExpected' in error && error.isExpected === true ? (): string[] => [] : frames
  const lines = framesOf(error)
  for (const cause of causes(error)) {
    lines.push(`caused by ${visible(`${cause.name}: ${cause.message}`, { maxLength: MAX_TEXT })}`, ...framesOf(cause))
  }
  return lines.join('\n').slice(0, MAX_STACK)
}

function frames(error: Error): string[] {
  const stack = error.stack ?? ''
  const message = stack.indexOf(error.message)
  return stack
    .slice(message === -1 ? stack.indexOf('\n    at ') : message + error.message.length)
    .split('\n')
    .map((line) => visible(line.trim(), { maxLength: MAX_TEXT }))
    .filter((line) => line.startsWith('at '))
}

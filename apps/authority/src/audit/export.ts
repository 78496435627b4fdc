import { type JsonObject, type JsonValue, isJsonObject, readJson, writeJson } from '@chancery/protocol'
import { assignSequences, findLastNumber, findNumber, readNumbered } from './sequence.ts'
import type { Database } from '../database/database.ts'

const REDACTED = '<redacted>'
const SECRET_WORDS = [
  'admin_signature',
  'body',
  'invite_token',
  'nonce',
  'private_key',
  'request_body',
  'signature',
  'token',
]

/** An event as it may leave the database (protocol/core 26). No secrets are recorded; this is a second protection. */
export function redactEvent(event: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, isSecretName(name) ? REDACTED : redactValue(value)]),
  )
}

function redactValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(redactValue)
  return isJsonObject(value) ? redactEvent(value) : value
}

function isSecretName(name: string): boolean {
  return !name.endsWith('_fingerprint') && SECRET_WORDS.some((word) => name.includes(word))
}

/** The position of a reader: a sequence, and the event with it. */
export interface AuditCursor {
  readonly sequence: number
  readonly event_id: string
}

export interface ExportedEvent extends AuditCursor {
  readonly event_type: string
  /** One line of JSON without its end. */
  readonly line: string
}

/** Writes a redacted event with its sequence as one line without its end. */
export type LineWriter = (event: JsonObject) => string

/** Before the first event. */
export const BEGINNING: AuditCursor = { sequence: 0, event_id: '' }

/** The sequence is missing, or another event has it: the database was restored. Continuing could skip events. */
export class CursorUnknownError extends Error {
  override readonly name = 'CursorUnknownError'
}

export function writeCursor({ sequence, event_id }: AuditCursor): string {
  return sequence === 0 ? '0' : `${sequence}:${event_id}`
}

export function readCursor(text: string): AuditCursor | undefined {
  if (text === '0') return BEGINNING
  const [, sequence, event_id] = /^([1-9][0-9]{0,14}):([0-9A-Za-z-]{1,64})$/.exec(text) ?? []
  return sequence === undefined || event_id === undefined ? undefined : { sequence: Number(sequence), event_id }
}

/** Pages of events after a cursor until none is left, each event exactly once and in one order for all readers. */
export async function* exportAudit(
  database: Database,
  after: AuditCursor,
  pageSize: number,
  write: LineWriter = writeJson,
): AsyncGenerator<readonly ExportedEvent[], void> {
  await checkCursor(database, after)
  await assignSequences(database)
  for (let at = after.sequence; ;) {
    const page = await readNumbered(database.read, at, pageSize)
    const last = page.at(-1)
    if (last === undefined) return
    yield page.map(({ sequence, event_id, event_type, event_json }) => ({
      sequence,
      event_id,
      event_type,
      line: writeLine(sequence, event_json, write),
    }))
    at = last.sequence
  }
}

async function checkCursor(database: Database, { sequence, event_id }: AuditCursor): Promise<void> {
  if (sequence === 0) return
  const found = await findNumber(database.read, sequence)
  if (found === event_id) return
  // Sequences have no gap except after a removal.
  if (found === undefined && sequence < (await findLastNumber(database.read)))
    throw new CursorUnknownError(
      `event ${event_id} was removed from this database (NA_AUDIT_KEPT_DAYS), and events after it may be: take them from where they were forwarded to, then begin at 0`,
    )
  throw new CursorUnknownError(
    `event ${event_id} is not number ${sequence} here: this database was restored; begin at 0`,
  )
}

function writeLine(sequence: number, text: string, write: LineWriter): string {
  const event = readJson(text)
  if (!isJsonObject(event)) throw new TypeError(`audit event number ${sequence} is not an object`)
  return write({ sequence, ...redactEvent(event) })
}

import { Refusal } from '@chancery/contract'
import {
  FormError,
  JsonError,
  RECORD_SUBJECTS,
  SUBJECT_KINDS,
  field,
  readInstant,
  readJson,
  shape,
} from '@chancery/protocol'
import type { HistoryPlace, Instant, RecordSubject, SubjectKind } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import { readPosition, readWhole } from '../../requests/paging.ts'
import { readChoiceFilter, readTextFilter, readTimeFilter } from '../../requests/read-filters.ts'

/** Records of one page of an archive. */
const MAX_ROWS = 200

/** No network is older, and a time in another unit would be earlier. */
const FIRST_TIME = readInstant('2000-01-01T00:00:00Z') ?? 0n

export interface TrustedRequest {
  readonly id: string
  /** Undefined: that of the stored record. */
  readonly kind: RecordSubject | undefined
  readonly issuer: string | undefined
  readonly at: Instant
}

export function readTrustedRequest(query: Query): TrustedRequest {
  const [id, time] = [readTextFilter(query, 'id'), readTimeFilter(query, 'at')]
  if (id === undefined) throw new Refusal('invalid_input', { field: 'id' })
  const at = readInstant(time ?? '')
  if (at === undefined || at < FIRST_TIME) throw new Refusal('invalid_timestamps', { field: 'at' })
  return {
    id,
    at,
    kind: readChoiceFilter(query, 'kind', RECORD_SUBJECTS),
    issuer: readTextFilter(query, 'issuer_sovereign_id'),
  }
}

export interface ArchiveRequest {
  readonly kind: SubjectKind
  readonly after: HistoryPlace | undefined
  readonly limit: number
}

export function readArchiveRequest(query: Query): ArchiveRequest {
  const kind = readChoiceFilter(query, 'kind', SUBJECT_KINDS)
  if (kind === undefined) throw new Refusal('invalid_input', { field: 'kind' })
  const cursor = query.first('cursor')
  return {
    kind,
    after: cursor === undefined ? undefined : readPlace(readPosition(cursor)),
    limit: readWhole(query.first('limit') ?? String(MAX_ROWS), 1, MAX_ROWS),
  }
}

const place = shape.closed({
  issuer_sovereign_id: shape.required(field.identifier),
  id: shape.required(field.identifier),
})

export function writePlace({ issuer_sovereign_id, id }: HistoryPlace): string {
  return JSON.stringify({ issuer_sovereign_id, id })
}

function readPlace(text: string): HistoryPlace {
  try {
    return place(readJson(text), '')
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) throw new Refusal('invalid_page')
    throw error
  }
}

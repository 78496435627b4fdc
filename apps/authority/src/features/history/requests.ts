import { Refusal } from '@chancery/contract'
import {
  FormError,
  JsonError,
  MAX_GAPS,
  RECORD_SUBJECTS,
  SUBJECT_KINDS,
  asJson,
  field,
  readInstant,
  readJson,
  readKeyHistory,
  readTrustHistory,
  shape,
  writeInstant,
} from '@chancery/protocol'
import type {
  HistoryGap,
  HistoryPlace,
  Instant,
  RecordSubject,
  SubjectKind,
  TrustHistory,
  TrustHistoryPage,
} from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import { readChoiceFilter, readPosition, readTextFilter, readTimeFilter, readWhole } from '../../requests/paging.ts'
import type { FeatureBase } from '../../core.ts'
import { readRecoveries, unsettledTime } from './queries.ts'

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

export type HistoryParts = Pick<FeatureBase, 'clock' | 'database' | 'ids' | 'keys' | 'log' | 'network' | 'signing'>

/** The page without records. */
export type StatedFacts = Pick<TrustHistory, 'covers' | 'treaties_with' | 'standings'>

/**
 * Signs what is stored about some records. `now` is from before the rows were read: a later change must not count as
 * stated.
 */
export async function signStatement(parts: HistoryParts, now: Instant, facts: StatedFacts): Promise<TrustHistory> {
  const draft = {
    history_id: parts.ids.uuid(),
    network_name: parts.network.name,
    issued_at: writeInstant(now),
    known_until: writeInstant(now - unsettledTime(parts.database)),
    gaps: await findGaps(parts),
    ...facts,
    issued_by: parts.signing.keyId,
    signatures: [],
  }
  return readTrustHistory(asJson(await parts.signing.sign(asJson(draft))))
}

/** Times of which changes may be lost. Of more recoveries than a statement can name, everything before them is lost. */
async function findGaps({ database }: HistoryParts): Promise<readonly HistoryGap[]> {
  const rows = await readRecoveries(database.read, MAX_GAPS + 1)
  const gaps = rows.slice(0, MAX_GAPS).map(({ recovered_at, known_until }): HistoryGap => {
    const last = readInstant(known_until ?? '')
    const until = readInstant(recovered_at)
    if (until === undefined) throw new Error('a recovery has no time')
    return {
      from: last === undefined ? null : writeInstant(last - unsettledTime(database)),
      until: writeInstant(until),
    }
  })
  if (rows.length <= MAX_GAPS) return gaps
  return gaps.map((gap, at) => (at === gaps.length - 1 ? { ...gap, from: null } : gap))
}

/** The key records of the authority, which every page carries. */
export function keyRecords({ network, keys }: HistoryParts): Pick<TrustHistoryPage, 'genesis' | 'key_history'> {
  const { historyText } = keys
  return {
    genesis: network.genesis,
    key_history: historyText === undefined ? null : readKeyHistory(readJson(historyText)),
  }
}

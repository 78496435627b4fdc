import { Refusal } from '@chancery/contract'
import {
  HOUR,
  LIFECYCLE_STATES,
  field,
  isIssuableScope,
  isPlainText,
  readTreatyScope,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject, TreatyLifecycle, TreatyScope } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import {
  isPublicKeyText,
  readGrantedRoles,
  readOrRefuse,
  readValidityHours,
  refuseUnknownMembers,
} from '../../requests/read-fields.ts'
import { sql } from 'kysely'

export type Condition = ReturnType<typeof sql<boolean>>

/** protocol/core 15.3: the state expiring_soon begins 72 hours before the end. */
const SOON = 72n * HOUR

/** The reason names the next treaty (protocol/core 15.3). */
const IS_REPLACED = sql<boolean>`(revocation_reason like 'replaced\\_by:_%' escape '\\' or revocation_reason like 'renewed\\_by:_%' escape '\\')`

/** The rows of a state, as the lifecycle of each row says it. Times of treaties sort as texts to the second. */
export function lifecycleIs(state: TreatyLifecycle['state'], now: Instant): Condition {
  const [at, soon] = [writeSortable(now), writeSortable(now + SOON)]
  switch (state) {
    case 'active':
      return sql<boolean>`(status <> 'revoked' and expires_at > ${soon})`
    case 'expiring_soon':
      return sql<boolean>`(status <> 'revoked' and expires_at > ${at} and expires_at <= ${soon})`
    case 'expired':
      return sql<boolean>`(status <> 'revoked' and expires_at <= ${at})`
    case 'revoked':
      return sql<boolean>`(status = 'revoked' and not coalesce(${IS_REPLACED}, false))`
    case 'replaced':
      return sql<boolean>`(status = 'revoked' and ${IS_REPLACED})`
  }
}

export interface IssueRequest {
  readonly subject_sovereign_id: string
  readonly subject_public_keys: readonly string[]
  readonly scope: TreatyScope
  readonly validityHours: number
  readonly metadata: JsonObject
}

/** Three years. */
export const MAX_VALIDITY_HOURS = 26_280

const MEMBERS = [
  'subject_sovereign_id',
  'subject_public_keys',
  'scope',
  'validity_hours',
  'issuer_sovereign_id',
  'metadata',
]

/** protocol/core 15.2, checks in the order of its table. */
export function readIssueRequest(body: JsonObject, own: string, allowedRoles: readonly string[]): IssueRequest {
  refuseUnknownMembers(body, MEMBERS)
  const subject = body['subject_sovereign_id']
  if (typeof subject !== 'string' || !isPlainText(subject, 128)) throw new Refusal('missing_treaty_subject')
  const subject_public_keys = readSubjectKeys(body)
  const scope = readScope(body, allowedRoles)
  const validityHours = readValidityHours(body['validity_hours'], 168, MAX_VALIDITY_HOURS)
  const issuer = body['issuer_sovereign_id']
  if (issuer !== undefined && issuer !== own) throw new Refusal('wrong_issuer')
  const metadata = readOrRefuse('invalid_input', () => field.freeForm(16_384)(body['metadata'] ?? {}, 'metadata'))
  // A treaty with oneself has no meaning and would make every path a circle.
  if (subject === own) throw new Refusal('invalid_recognition_treaty')
  return { subject_sovereign_id: subject, subject_public_keys, scope, validityHours, metadata }
}

function readSubjectKeys(body: JsonObject): readonly string[] {
  const keys = body['subject_public_keys']
  if (!Array.isArray(keys)) throw new Refusal('missing_treaty_subject')
  if (keys.length === 0) throw new Refusal('empty_subject_public_keys')
  const isGood = keys.length <= 16 && keys.every(isPublicKeyText) && new Set(keys).size === keys.length
  if (!isGood) throw new Refusal('invalid_public_keys')
  return keys
}

function readScope(body: JsonObject, allowedRoles: readonly string[]): TreatyScope {
  const scope = readOrRefuse('invalid_treaty_scope', () => readTreatyScope(body['scope'] ?? {}))
  readGrantedRoles(scope.allowed_roles, 0, allowedRoles)
  if (!isIssuableScope(scope)) throw new Refusal('invalid_treaty_scope', { field: 'claims' })
  return scope
}

export type TreatySort = 'issued_at' | 'expires_at'

export interface TreatyListRequest {
  readonly sort: TreatySort
  readonly lifecycle: TreatyLifecycle['state'] | undefined
  readonly prefix: string | undefined
}

/** The members of a list that are beta; an unreadable one must not return everything. */
export function readTreatyList(query: Query): TreatyListRequest {
  const [sort, lifecycle, prefix] = [query.first('sort'), query.first('lifecycle'), query.first('q')]
  if (sort !== undefined && sort !== 'issued_at' && sort !== 'expires_at')
    throw new Refusal('invalid_input', { field: 'sort' })
  const state = LIFECYCLE_STATES.find((each) => each === lifecycle)
  if (lifecycle !== undefined && state === undefined) throw new Refusal('invalid_input', { field: 'lifecycle' })
  if (prefix !== undefined && !isPlainText(prefix, 128)) throw new Refusal('invalid_input', { field: 'q' })
  return { sort: sort ?? 'issued_at', lifecycle: state, prefix }
}

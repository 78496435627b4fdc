import { sql } from 'kysely'
import type { Database } from '../../../database/database.ts'
import { beginsWith, readCandidatesOf } from '../../../database/index-source.ts'
import type { Candidate, IndexSource, Position } from '../../../database/index-source.ts'
import type { Moment } from '../mark-silent.job.ts'

/** Ways to walk over the nodes, each served by one index. */
export const SEGMENTS = [
  'silent',
  'ends',
  'ending',
  'label',
  'newest',
  'revoked',
  'superseded',
  'expired',
  'agents',
  'q-label',
  'q-key',
  'q-certificate',
  'q-agent',
  'q-address',
] as const
export type SegmentName = (typeof SEGMENTS)[number]

export interface Walk {
  readonly moment: Moment
  /** False in a small network, where silent nodes are found by reading all and need no mark. */
  readonly isLarge: boolean
  readonly joinedSince: string | undefined
  /** The searched text, and as labels are compared. */
  readonly q: string
  readonly folded: string
}

/** The next candidates of a segment after a position, in the order of its index. */
export function readCandidates(
  database: Pick<Database, 'engine' | 'read'>,
  segment: SegmentName,
  walk: Walk,
  bounds: { readonly after: Position | undefined; readonly limit: number },
): Promise<readonly Candidate[]> {
  return readCandidatesOf(database, sourceOf(segment, walk, database.engine), bounds)
}

const CERTIFICATES = { table: 'issued_certs', key: 'node_public_key', id: 'cert_id' } as const
const LIVENESS = { table: 'node_liveness', key: 'node_public_key', id: 'cert_id' } as const
const AGENTS = { table: 'agent_registrations', key: 'node_public_key', id: 'node_public_key' } as const
const LABELS = {
  table: 'node_labels',
  key: 'node_public_key',
  id: 'node_public_key',
  at: 'folded',
  bytes: true,
} as const

function sourceOf(segment: SegmentName, walk: Walk, engine: Database['engine']): IndexSource {
  if (segment.startsWith('q-')) return searchSource(segment, walk, engine)
  const { now, silentUntil, endsSoonUntil } = walk.moment
  const issued = { ...CERTIFICATES, at: 'issued_at', descending: true } as const
  switch (segment) {
    case 'silent':
      return walk.isLarge
        ? { ...LIVENESS, at: 'silent_since', where: sql`silent_since is not null and node_public_key is not null` }
        : {
            ...LIVENESS,
            at: 'last_heartbeat',
            where: sql`last_heartbeat <= ${silentUntil} and node_public_key is not null`,
          }
    case 'ends':
      return {
        ...CERTIFICATES,
        at: 'expires_at',
        where: sql`expires_at > ${now} and expires_at <= ${endsSoonUntil} and status = 'issued' and revoke_after is null`,
      }
    case 'ending':
      return { ...CERTIFICATES, at: 'expires_at', where: sql`expires_at > ${now}` }
    case 'expired':
      return { ...CERTIFICATES, at: 'expires_at', descending: true, backwards: true, where: sql`expires_at <= ${now}` }
    case 'label':
      return { ...LABELS, where: sql`1 = 1` }
    case 'revoked':
      return { ...issued, where: sql`status = 'revoked'` }
    case 'superseded':
      return { ...issued, where: sql`status = 'issued' and revoke_after is not null and revoke_after <= ${now}` }
    case 'agents':
      return { ...AGENTS, at: 'registered_at', descending: true, where: sql`listed = 1` }
    default:
      return { ...issued, where: walk.joinedSince === undefined ? sql`1 = 1` : sql`issued_at >= ${walk.joinedSince}` }
  }
}

function searchSource(segment: SegmentName, { q, folded }: Walk, engine: Database['engine']): IndexSource {
  const prefixed = (source: Omit<IndexSource, 'where'>, prefix: string, also = sql``): IndexSource => ({
    ...source,
    bytes: true,
    where: sql`${beginsWith(source.at, prefix, engine)} ${also}`,
  })
  switch (segment) {
    case 'q-label':
      return prefixed(LABELS, folded)
    case 'q-key':
      return prefixed({ ...CERTIFICATES, at: 'node_public_key' }, q)
    case 'q-certificate':
      // Ids have one form, so whole ids as bounds are right in every collation, and the primary key serves them.
      return {
        ...CERTIFICATES,
        at: 'cert_id',
        where: sql`cert_id >= ${fillId(q, '0')} and cert_id <= ${fillId(q, 'f')}`,
      }
    case 'q-agent':
      return prefixed({ ...AGENTS, at: 'agent_id' }, q, sql`and listed = 1`)
    default:
      return prefixed({ ...LIVENESS, at: 'remote_addr' }, q, sql`and node_public_key is not null`)
  }
}

const ID_FORM = '00000000-0000-0000-0000-000000000000'

/** The least or greatest id with the prefix. */
function fillId(prefix: string, digit: '0' | 'f'): string {
  return prefix + ID_FORM.slice(prefix.length).replaceAll('0', digit)
}

/** True when a text may begin a certificate id. */
export function beginsId(text: string): boolean {
  return (
    text.length <= ID_FORM.length &&
    [...text].every((character, at) => (ID_FORM[at] === '-' ? character === '-' : /[0-9a-f]/.test(character)))
  )
}

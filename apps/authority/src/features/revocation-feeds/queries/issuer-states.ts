import { selectByIds } from '../../../database/batched-read.ts'
import type { Statement } from '../../../database/database.ts'

/** The newest imported feeds of an issuer. */
export interface NewestFeedRow {
  readonly issuer_sovereign_id: string
  /** Highest sequence, imported completely or not. */
  readonly sequence: number
  /** Highest sequence that was imported completely, and its facts. */
  readonly complete: number | null
  readonly feed_id: string | null
  readonly digest: string | null
  readonly imported_at: string | null
  readonly confirmed_at: string | null
}

export const READ_NEWEST_FEEDS = selectByIds<NewestFeedRow>(
  'read-newest-feeds',
  (isOneOf) => `with newest as (
  select issuer_sovereign_id, max(sequence) as sequence, max(case when complete = 1 then sequence end) as complete
  from sovereign_revocation_feeds where issuer_sovereign_id ${isOneOf} group by issuer_sovereign_id
)
select n.issuer_sovereign_id, n.sequence, n.complete, f.feed_id, f.digest, f.imported_at,
  (select i.confirmed_at from imported_issuers i where i.issuer_sovereign_id = n.issuer_sovereign_id) as confirmed_at
from newest n
left join sovereign_revocation_feeds f on f.issuer_sovereign_id = n.issuer_sovereign_id and f.sequence = n.complete`,
)

export interface ListedRow {
  readonly issuer_sovereign_id: string
  readonly attestation_id: string
}

export const listedKey = ({ issuer_sovereign_id, attestation_id }: ListedRow): string =>
  JSON.stringify([issuer_sovereign_id, attestation_id])

const SELECT_LISTED = (keys: string): string =>
  `select r.issuer_sovereign_id, r.attestation_id from ${keys}
  join imported_sovereign_revocations r on r.issuer_sovereign_id = t.issuer and r.attestation_id = t.id`

/** The keys are those of \`listedKey\`; only revoked ones have a row. */
export const READ_LISTED: Statement<readonly string[], ListedRow> = {
  name: 'read-listed-attestations',
  isRead: true,
  postgres: {
    text: SELECT_LISTED('unnest($1::text[], $2::text[]) as t(issuer, id)'),
    values: (keys) => {
      const pairs = keys.map((key) => JSON.parse(key) as readonly [string, string])
      return [pairs.map(([issuer]) => issuer), pairs.map(([, id]) => id)]
    },
  },
  sqlite: (prepare, keys) =>
    prepare(
      SELECT_LISTED(
        "(select json_extract(value, '$[0]') as issuer, json_extract(value, '$[1]') as id from json_each(?)) as t",
      ),
    ).all(`[${keys.join(',')}]`) as never,
}

import { trustHistoryJson } from '@chancery/protocol'
import type { HistoryPlace, JsonObject, Standing, SubjectKind, TrustHistoryPage } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { writeCursor } from '../../requests/paging.ts'
import { type HistoryParts, keyRecords, readArchiveRequest, signStatement, writePlace } from './requests.ts'
import {
  listLocalEnds,
  readAttestations,
  readCertificates,
  readImported,
  readPolicyEnds,
  readTreaties,
} from './queries.ts'
import { attestationStanding, certificateStanding, importedStanding, treatyStanding } from './standings.ts'

type Records = Pick<TrustHistoryPage, 'certificates' | 'attestations' | 'treaties'>

interface Rows {
  readonly standings: readonly Standing[]
  readonly records: Partial<Records>
}

/**
 * GET /admin/history/archive
 * Returns one signed page of everything that is stored about records of a kind. With all pages, questions about the
 * past can be answered after the rows were removed.
 */
export async function archive(call: OperatorCall, parts: HistoryParts): Promise<JsonObject> {
  const now = parts.clock.now()
  const { kind, after, limit } = readArchiveRequest(call.query)
  // One more row shows whether another page follows.
  const { standings: found, records } = await READERS[kind](parts, after, limit + 1)
  const hasNext = found.length > limit
  const standings = found.slice(0, limit)
  const last = standings.at(-1)
  const through = hasNext && last !== undefined ? placeOf(last) : null
  const covers = { kind, after: after ?? null, through }
  const history = await signStatement(parts, now, { covers, treaties_with: null, standings })
  const none: Records = { certificates: [], attestations: [], treaties: [] }
  const page = { ...keyRecords(parts), history, ...none, ...records, lists: [], feeds: [] }
  return {
    count: standings.length,
    page: trustHistoryJson(page),
    next_cursor: through === null ? null : writeCursor(writePlace(through)),
  }
}

function placeOf({ issuer_sovereign_id, id }: Standing): HistoryPlace {
  return { issuer_sovereign_id, id }
}

type ReadRows = (parts: HistoryParts, after: HistoryPlace | undefined, limit: number) => Promise<Rows>

const READERS: Readonly<Record<SubjectKind, ReadRows>> = {
  certificate: async ({ database, network }, after, limit) => {
    const rows = await readCertificates(database.read, { after, limit })
    const stored = rows.map((row) => certificateStanding(row, network.name))
    return { standings: stored.map(({ standing }) => standing), records: { certificates: recordsOf(stored, limit) } }
  },
  attestation: async ({ database, network }, after, limit) => {
    const rows = await readAttestations(database.read, { after, limit })
    const stored = rows.map((row) => attestationStanding(row, network.name))
    return { standings: stored.map(({ standing }) => standing), records: { attestations: recordsOf(stored, limit) } }
  },
  treaty: async ({ database, network }, after, limit) => {
    const rows = await readTreaties(database, { after, limit })
    const stored = rows.map((row) => treatyStanding(row, network.name))
    return { standings: stored.map(({ standing }) => standing), records: { treaties: recordsOf(stored, limit) } }
  },
  // First the ids that recognition policies revoke for every partner, under the name of the authority.
  imported_attestation: async ({ database, network: { name: own } }, after, limit) => {
    const isPolicy = after === undefined || after.issuer_sovereign_id === own
    const named = isPolicy ? await readPolicyEnds(database, { after: after?.id, limit }) : []
    const standings = named.map(({ id, created_at }) =>
      importedStanding(own, id, undefined, { policy_at: created_at, own_issued_at: null }),
    )
    if (named.length === limit) return { standings, records: {} }
    const from = isPolicy ? undefined : after
    const rows = await readImported(database.read, { own, after: from, limit: limit - named.length })
    const ids = new Set(rows.map(({ attestation_id }) => attestation_id))
    const ends = await listLocalEnds(database, [...ids])
    const imported = rows.map((row) =>
      importedStanding(row.issuer_sovereign_id, row.attestation_id, row, ends.get(row.attestation_id)),
    )
    return { standings: [...standings, ...imported], records: {} }
  },
}

/** Without the record of the row that only shows whether another page follows. */
function recordsOf<Value>(stored: readonly { readonly record: Value | undefined }[], limit: number): readonly Value[] {
  return stored
    .slice(0, limit - 1)
    .map(({ record }) => record)
    .filter((record) => record !== undefined)
}

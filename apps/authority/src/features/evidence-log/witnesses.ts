import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceLogParts } from './identity.ts'
import { findLog } from './queries.ts'
import { findCosigned, listWitnesses } from './witnesses/queries.ts'

/**
 * GET /admin/evidence-log/witnesses
 * Returns what each witness said last.
 */
export async function witnesses(_call: OperatorCall, parts: EvidenceLogParts): Promise<JsonObject> {
  const db = parts.database.read
  const [state, cosigned] = [await findLog(db), await findCosigned(db)]
  const { logQuorum, logWitnesses } = parts.settings
  const urls = new Map(logWitnesses.map(({ name, url }) => [name, url]))
  const rows = new Map((await listWitnesses(db)).map((row) => [row.name, row]))
  const names = new Set([...urls.keys(), ...rows.keys()])
  return {
    tree_size: state?.size ?? 0,
    quorum: logQuorum,
    cosigned_size: cosigned?.tree_size ?? 0,
    cosigners: cosigned?.cosigners ?? 0,
    pending_since: cosigned?.pending_since ?? null,
    witnesses: [...names].map((name) => {
      const row = rows.get(name)
      return {
        name,
        url: urls.get(name) ?? null,
        known_size: row?.known_size ?? 0,
        cosigned_at: row?.cosigned_at ?? null,
        tried_at: row?.tried_at ?? null,
        failure: row?.failure ?? null,
        alarm: row?.alarm ?? null,
        alarm_at: row?.alarm_at ?? null,
        alarm_size: row?.alarm_size ?? null,
        proven: (row?.proof_note ?? null) !== null,
      }
    }),
  }
}

import { Refusal } from '@chancery/contract'
import { writeLogKey } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { findIdentity } from './identity.ts'
import { statedOrigin } from './origin.ts'
import type { EvidenceLogParts } from './parts.ts'
import { findLog } from './queries.ts'
import { signersOf } from './sign-note.ts'
import { findCosigned, listWitnesses } from './witnesses/queries.ts'

/**
 * GET /evidence-log
 * Returns the name and the keys of the log, the signed record of both, and its witnesses.
 */
export async function describe(_call: Call, parts: EvidenceLogParts): Promise<JsonObject> {
  const state = await findLog(parts.database.read)
  const identity = await findIdentity(parts.database.read)
  if (state === undefined || identity === undefined) throw new Refusal('not_found')
  const { logQuorum, logWitnesses } = parts.settings
  const name = statedOrigin(state.note)
  return {
    origin: name,
    tree_size: state.size,
    verifier_keys: signersOf(parts).map(({ publicKey }) => writeLogKey({ name, publicKey })),
    log_identity: identity as unknown as JsonObject,
    witnesses: logWitnesses.map(({ verifierKey }) => verifierKey),
    quorum: logQuorum,
  }
}

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

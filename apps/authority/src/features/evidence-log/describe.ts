import { Refusal } from '@chancery/contract'
import { type JsonObject, writeLogKey } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { type EvidenceLogParts, findIdentity, signersOf } from './identity.ts'
import { statedOrigin } from './continuity.ts'
import { findLog } from './queries.ts'

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

import { Refusal } from '@chancery/contract'
import { draftPolicyManifest, instantOf, verifyList, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, PolicyTerms } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { seal } from '../../signing/seal.ts'
import type { Tx } from '../../store/database.ts'
import { bumpHead } from '../../store/heads.ts'
import { activatePolicy, insertPolicy, toManifest } from './store.ts'
import type { StoredPolicy } from './store.ts'

/** Signs, keeps and activates a new version. The caller holds the policy head. */
export async function publishVersion(
  tx: Tx,
  office: Office,
  facts: { readonly policy_id: string; readonly terms: PolicyTerms; readonly previous: StoredPolicy | undefined },
): Promise<string> {
  const now = notBefore(office.clock.now(), facts.previous)
  const draft = draftPolicyManifest({
    policy_id: facts.policy_id,
    issued_at: writeInstant(now),
    issued_by: office.signer.keyId,
    terms: facts.terms,
  })
  const text = writeJson(await seal(office, draft))
  await insertPolicy(tx, facts.policy_id, text, writeSortable(now))
  await switchTo(tx, facts.policy_id)
  return text
}

/** Activates a stored version after checking that its signature still holds: an edited row must not come into force. */
export async function activateStored(tx: Tx, office: Office, stored: StoredPolicy): Promise<string> {
  const manifest = toManifest(stored)
  if (!(await verifyList(manifest, [office.signer.publicKey]))) throw new Refusal('conflict')
  await switchTo(tx, stored.policy_id)
  return stored.policy_json
}

async function switchTo(tx: Tx, policy_id: string): Promise<void> {
  await activatePolicy(tx, policy_id)
  await bumpHead(tx, 'policy')
}

/** A version is never dated before its predecessor, even when a clock was set back (reliability 8). */
function notBefore(now: Instant, previous: StoredPolicy | undefined): Instant {
  const floor = previous === undefined ? now : instantOf(toManifest(previous).issued_at)
  return floor > now ? floor : now
}

import { Refusal } from '@chancery/contract'
import {
  FormError,
  JsonError,
  canonicalJson,
  draftPolicyManifest,
  readInstant,
  readJson,
  verifyList,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { PolicyManifest, PolicyTerms } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { dateAfter } from '../../signing/dating.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
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
  const now = dateAfter(office, 'policy', readInstant(facts.previous?.created_at ?? ''))
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

/** Brings a stored, verified version into force. */
export async function activateStored(tx: Tx, stored: StoredPolicy): Promise<string> {
  await switchTo(tx, stored.policy_id)
  return stored.policy_json
}

/** The stored manifest, if its signature still holds: an edited row is a conflict, whatever was done to it. */
export async function verifyStored(office: Office, stored: StoredPolicy): Promise<PolicyManifest> {
  let cause: unknown
  try {
    const manifest = toManifest(stored)
    const isWhole = canonicalJson(readJson(stored.policy_json)) === canonicalJson(manifest)
    if (isWhole && (await verifyList(manifest, ownKeysAt(office.ownKeys, manifest.issued_at)))) return manifest
  } catch (error) {
    if (!(error instanceof FormError) && !(error instanceof JsonError)) throw error
    cause = error
  }
  office.log.error('a stored network policy does not verify', {
    alarm: true,
    policy_id: stored.policy_id,
    error: cause,
  })
  throw new Refusal('conflict', {}, { cause })
}

async function switchTo(tx: Tx, policy_id: string): Promise<void> {
  await activatePolicy(tx, policy_id)
  await bumpHead(tx, 'policy')
}

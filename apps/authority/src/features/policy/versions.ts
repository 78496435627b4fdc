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
import { dateAfter } from '../../clock/date-after.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import type { Transaction } from '../../database/database.ts'
import { type StoredPolicy, activatePolicy, insertPolicy, toManifest } from './queries.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'

export interface PolicyParts extends FeatureBase, Pick<Core, 'operators' | 'reads' | 'rollback' | 'versions'> {
  readonly publishedDocuments: PublishedDocuments
}

/** Signs, stores and activates a new version. The caller has the lock. */
export async function publishVersion(
  tx: Transaction,
  parts: PolicyParts,
  facts: { readonly policy_id: string; readonly terms: PolicyTerms; readonly previous: StoredPolicy | undefined },
): Promise<string> {
  const now = dateAfter(parts, 'policy', readInstant(facts.previous?.created_at ?? ''))
  const draft = draftPolicyManifest({
    policy_id: facts.policy_id,
    issued_at: writeInstant(now),
    issued_by: parts.signing.keyId,
    terms: facts.terms,
  })
  const text = writeJson(await parts.signing.sign(draft))
  await insertPolicy(tx, facts.policy_id, text, writeSortable(now))
  await switchTo(tx, facts.policy_id)
  return text
}

/**
 * Activates a stored version unchanged. One of a former key is signed again with the current key, because followers
 * refuse policies of a former key after the switch.
 */
export async function activateStored(
  tx: Transaction,
  parts: PolicyParts,
  { stored, previous }: { readonly stored: StoredPolicy; readonly previous: StoredPolicy | undefined },
): Promise<string> {
  const isOfPresentKey = await verifyList(toManifest(stored), [parts.signing.publicKey])
  const text = isOfPresentKey ? stored.policy_json : await signStoredAgain(tx, parts, { stored, previous })
  await switchTo(tx, stored.policy_id)
  return text
}

/** The same id and terms with the current key, dated now. The stored text is verified first. */
export async function signStoredAgain(
  tx: Transaction,
  parts: PolicyParts,
  { stored, previous = stored }: { readonly stored: StoredPolicy; readonly previous: StoredPolicy | undefined },
): Promise<string> {
  const { policy_id, issued_at: _date, issued_by: _key, signatures: _old, ...terms } = await verifyStored(parts, stored)
  const now = dateAfter(parts, 'policy', readInstant(previous.created_at))
  const draft = draftPolicyManifest({ policy_id, issued_at: writeInstant(now), issued_by: parts.signing.keyId, terms })
  const policy_json = writeJson(await parts.signing.sign(draft))
  await tx.query
    .updateTable('policy_versions')
    .set({ policy_json, created_at: writeSortable(now) })
    .where('policy_id', '=', policy_id)
    .execute()
  return policy_json
}

/** Returns the stored manifest if its signature is valid. An edited row is a conflict. */
export async function verifyStored(parts: PolicyParts, stored: StoredPolicy): Promise<PolicyManifest> {
  let cause: unknown
  try {
    const manifest = toManifest(stored)
    const isWhole = canonicalJson(readJson(stored.policy_json)) === canonicalJson(manifest)
    if (isWhole && (await verifyList(manifest, ownKeysAt(parts.keys, manifest.issued_at)))) return manifest
  } catch (error) {
    if (!(error instanceof FormError) && !(error instanceof JsonError)) throw error
    cause = error
  }
  parts.log.error('a stored network policy does not verify', {
    alarm: true,
    policy_id: stored.policy_id,
    error: cause,
  })
  throw new Refusal('conflict', {}, { cause })
}

async function switchTo(tx: Transaction, policy_id: string): Promise<void> {
  await activatePolicy(tx, policy_id)
  await tx.raiseVersion('policy')
}

import { Refusal } from '@chancery/contract'
import { FormError, type JsonObject, type Signature, field, signedBytes, verifySignature } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { PolicyParts } from './parts.ts'

/**
 * Verifies the signatures of a sent manifest: each must verify over the manifest as sent, with a key of this authority,
 * the root key or the caller's key. A manifest without signatures is a draft.
 */
export async function requireSentSignatures({ body, operator }: OperatorCall, parts: PolicyParts): Promise<void> {
  const signatures = readSignatures(body)
  if (signatures.length === 0) return
  // The signed manifest must have these two members. The authority then replaces both.
  if (typeof body['issued_at'] !== 'string' || typeof body['issued_by'] !== 'string') refuseSignatures()
  const caller = parts.operators.get(operator.key_id)
  const keys = [
    ...parts.keys.all,
    parts.network.genesis.root_public_key,
    ...(caller === undefined ? [] : [caller.publicKey]),
  ]
  const message = signedBytes({ ...body, signatures }, 'signatures')
  for (const { sig } of signatures) if (!(await verifiesUnderOne(keys, message, sig))) refuseSignatures()
}

async function verifiesUnderOne(keys: readonly string[], message: Uint8Array, sig: string): Promise<boolean> {
  for (const key of keys) if (await verifySignature(key, message, sig)) return true
  return false
}

function readSignatures(body: JsonObject): readonly Signature[] {
  const sent = body['signatures']
  if (sent === undefined || sent === null) return []
  try {
    return field.signatures(sent, 'signatures')
  } catch (error) {
    if (error instanceof FormError) refuseSignatures()
    throw error
  }
}

function refuseSignatures(): never {
  throw new Refusal('invalid_policy', { field: 'signatures', reason: 'invalid_signature' })
}

import { Refusal } from '@chancery/contract'
import type { Reader } from '../database/database.ts'

/** Under the lock of a list: an instance with the former key must not publish after the new key. */
export async function requireCurrentKey(
  tx: Reader,
  { signing }: { readonly signing: { readonly publicKey: string } },
): Promise<void> {
  const stored = await tx.selectFrom('authority_identity').select('public_key').executeTakeFirst()
  if (stored !== undefined && stored.public_key !== signing.publicKey)
    throw new Refusal('service_unavailable', { reason: 'key_succeeded' })
}

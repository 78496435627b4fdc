import { readPrivateKeyFile, seedSigner } from '@chancery/sdk'
import type { Signer } from '@chancery/sdk'

/**
 * Makes a signer of a key file, or of the bare seed it would hold. The key is imported non-extractable and lives in this page only: nothing is stored,
 * and no script, ours included, can read it back.
 */
export async function openKey(text: string, keyId: string): Promise<Signer> {
  const file = readPrivateKeyFile(text)
  if (file === undefined) throw new Error('That is no private key: neither a key file nor 32 bytes in base64.')
  const id = keyId.trim() || file.keyId
  if (id === undefined) throw new Error('The key file has no key id. Enter the id of this key at the authority.')
  return seedSigner(id, file.value)
}

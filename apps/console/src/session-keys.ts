import type { Signer } from '@chancery/sdk'
import { seedSigner } from '@chancery/sdk/compat'
import { parsePrivateKey as readPrivateKeyFile } from '@chancery/sdk/protocol'

/**
 * Creates a signer from a key file or a seed. The key is imported as non-extractable and stays in this page: nothing is
 * stored, and no script can read it.
 */
export async function openKey(text: string, keyId: string): Promise<Signer> {
  const file = readPrivateKeyFile(text)
  if (file === undefined) throw new Error('This is not a private key. Choose a key file, or enter 32 bytes in base64.')
  const id = keyId.trim() || file.keyId
  if (id === undefined) throw new Error('The key file has no key id. Enter the id of this key at the authority.')
  return seedSigner(id, file.value)
}

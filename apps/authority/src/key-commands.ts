import { writePublicKeyFile } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import { readOrExplain } from './host-settings.ts'
import type { HostArguments } from './host-settings.ts'
import { readKeySource } from './settings.ts'
import { openSigner } from './signing/key-providers.ts'
import { KeyUnavailable } from './signing/key-unavailable.ts'

/** Prints the public key that the settings name, as a .pub file: what a genesis block is made from. */
export async function publicKey(args: HostArguments): Promise<number> {
  const source = await readOrExplain(args, readKeySource)
  if (source === undefined) return 1
  try {
    const { publicKey: key } = await openSigner(source, 'unused', createLog({ level: 'error', format: 'text' }))
    process.stdout.write(writePublicKeyFile(key))
    return 0
  } catch (error) {
    if (!(error instanceof KeyUnavailable)) throw error
    process.stderr.write(`chancery: no key: ${error.message}\n`)
    return 1
  }
}

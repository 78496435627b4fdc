import { writePublicKeyFile } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import { type CommandArguments, readOrReport } from './command-settings.ts'
import { readKeySource } from '../settings/key-settings.ts'
import { openSigner } from '../signing/key-providers.ts'
import { KeyUnavailableError } from '../signing/key-unavailable.ts'

/** Prints the public key of the settings as a .pub file, for a genesis block. */
export async function publicKey(args: CommandArguments): Promise<number> {
  const source = await readOrReport(args, readKeySource)
  if (source === undefined) return 1
  try {
    const { publicKey: key } = await openSigner(source, 'unused', createLog({ level: 'error', format: 'text' }))
    process.stdout.write(writePublicKeyFile(key))
    return 0
  } catch (error) {
    if (!(error instanceof KeyUnavailableError)) throw error
    process.stderr.write(`chancery: no key: ${error.message}\n`)
    return 1
  }
}

import { type PolicyManifest, verifyList } from '@chancery/protocol'
import { type Connection, FOLLOW_HINT, signersAt } from '../../connection/connection.ts'
import { CommandError } from '../../errors/failure.ts'

/**
 * Verifies a manifest with the authority key of the local genesis block. A proxy can send any
 * manifest; without a block it is not verified, and the text states this.
 */
export async function checkSignature(connection: Connection, policy: PolicyManifest): Promise<string> {
  const { config } = connection
  const keys = signersAt(connection, policy)
  if (keys === undefined) return 'not checked (no genesis block is configured)'
  if (await verifyList(policy, keys)) return 'valid, by the authority of the configured genesis block'
  throw new CommandError({
    code: 'invalid_signature',
    message: `The policy from ${connection.url} is not signed by the authority of ${config.paths.genesis ?? 'the genesis block'}.`,
    hint: `This is another network, or a proxy changed the response. Do not use it. ${FOLLOW_HINT}`,
  })
}

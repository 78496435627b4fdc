import { verifyList } from '@chancery/protocol'
import type { PolicyManifest } from '@chancery/protocol'
import type { Connection } from '../../connection.ts'
import { Failure } from '../../failure.ts'

/**
 * Holds a manifest against the authority key of the local genesis block. Whoever sits on the line can serve any
 * manifest; without a block that stays open, and the text says so.
 */
export async function checkSignature(connection: Connection, policy: PolicyManifest): Promise<string> {
  const { authorityKey, config } = connection
  if (authorityKey === undefined) return 'not checked (no genesis block is configured)'
  if (await verifyList(policy, [authorityKey])) return 'valid, by the authority of the configured genesis block'
  throw new Failure({
    code: 'invalid_signature',
    message: `The policy from ${connection.url} is not signed by the authority of ${config.paths.genesis ?? 'the genesis block'}.`,
    hint: 'Either this is another network, or somebody changed the answer. Do not use it.',
  })
}

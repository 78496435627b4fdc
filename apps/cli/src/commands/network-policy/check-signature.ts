import { verifyList } from '@chancery/protocol'
import type { PolicyManifest } from '@chancery/protocol'
import { FOLLOW_HINT, signersAt } from '../../connection.ts'
import type { Connection } from '../../connection.ts'
import { Failure } from '../../failure.ts'

/**
 * Holds a manifest against the authority key of the local genesis block. Whoever sits on the line can serve any
 * manifest; without a block that stays open, and the text says so.
 */
export async function checkSignature(connection: Connection, policy: PolicyManifest): Promise<string> {
  const { config } = connection
  const keys = signersAt(connection, policy)
  if (keys === undefined) return 'not checked (no genesis block is configured)'
  if (await verifyList(policy, keys)) return 'valid, by the authority of the configured genesis block'
  throw new Failure({
    code: 'invalid_signature',
    message: `The policy from ${connection.url} is not signed by the authority of ${config.paths.genesis ?? 'the genesis block'}.`,
    hint: `Either this is another network, or somebody changed the answer. Do not use it. ${FOLLOW_HINT}`,
  })
}

import { visible } from '@chancery/protocol'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import { missingRecord } from '../../prompts/missing-record.ts'
import { requireConsent } from '../../prompts/confirm.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { checkSignature } from './check-signature.ts'
import { describePolicy } from './describe.ts'

/** Runs `network-policy rollback`: every node follows the active policy, so it asks first. */
export async function runNetworkPolicyRollback(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const policyId = args.required('policy_id')
  const connection = await connectAsOperator(context, options)
  const question = `Make ${visible(policyId)} the active policy at ${connection.url}?`
  await requireConsent(context, options, question, () => findVersion(connection, policyId))
  const manifest = await connection.ask((client) => client.policy.rollback({ policy_id: policyId }))
  const signature = await checkSignature(connection, manifest)
  return {
    data: manifest,
    ids: [manifest.policy_id],
    text: `${context.style.good('Active again:')}\n${describePolicy(manifest, signature, context.style)}`,
  }
}

async function findVersion(connection: Connection, id: string): Promise<void> {
  const { versions, next_cursor: more } = await connection.ask((client) => client.policy.history({ limit: 1000 }))
  // Older versions are on later pages; then the authority decides.
  if (versions.some(({ policy_id }) => policy_id === id) || (more ?? null) !== null) return
  throw missingRecord('policy_not_found')
}

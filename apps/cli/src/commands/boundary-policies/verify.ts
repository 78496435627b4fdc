import { BOUNDARY_POLICY_FORM, type JsonObject, readReceived, visible } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'

const POLICY = {
  name: 'a boundary policy',
  member: 'policy',
  // The file is sent unchanged: a dropped field would break the signature.
  read: (value: Parameters<typeof readReceived>[1]): JsonObject => readReceived(BOUNDARY_POLICY_FORM, value).wire,
} as const

/** Runs `boundary-policy verify`; the exit code is 1 when the policy is not valid. */
export async function runBoundaryPolicyVerify(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const policy = await loadRecord(cwd, args.required('file'), POLICY)
  const keys = await loadPublicKeys(cwd, options, 'issuer-key')
  const connection = await connect(context, options)
  const named = keys === undefined ? {} : { issuer_public_keys: keys }
  const verdict = await connection.ask((client) => client.boundaryPolicies.verify({ policy, ...named }))
  const title = verdict.valid ? style.good('Valid:') : style.bad(`Not valid (${visible(verdict.reason)}):`)
  const text = `${title} ${visible(verdict.policy_id)} version ${verdict.version}, digest ${visible(verdict.policy_digest)}`
  return { data: verdict, text, exitCode: verdict.valid ? 0 : 1 }
}

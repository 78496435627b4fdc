import { findPolicyWarnings, visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { shellWord } from '../../output/shell-word.ts'
import type { Result } from '../../output/result.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describePolicy } from './describe.ts'
import { loadIntent } from './policy-file.ts'
import { loadCedarTexts, nameTexts } from './cedar.ts'

/** Runs `boundary-policy publish`: signs and stores; the policy has no effect until it is activated. */
export async function runBoundaryPolicyPublish(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const intent = nameTexts(await loadIntent(cwd, args.required('file')), await loadCedarTexts(cwd, options))
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundaryPolicies.publish(intent)),
  )
  const { policy_id, version } = record
  const next = `Not in force yet: ${context.again(`chancery boundary-policy activate ${shellWord(policy_id)} ${version}`)}`
  const warnings = findPolicyWarnings(record).map(({ message }) => `\n${style.warn('Warning:')} ${visible(message)}`)
  const text = `${style.good('Published:')}\n${describePolicy(record, style)}${saved}${warnings.join('')}\n${next}`
  return { data: record, ids: [policy_id], text }
}

import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadIntent } from './policy-file.ts'
import { loadCedarTexts, nameTexts } from './cedar.ts'

/** Runs `boundary-policy validate`; the exit code is 1 when there are issues. */
export async function runBoundaryPolicyValidate(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const intent = nameTexts(await loadIntent(cwd, args.required('file')), await loadCedarTexts(cwd, options))
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.boundaryPolicies.validate(intent))
  if (found.valid) {
    const text = `${style.good('Valid:')} ${visible(found.policy_id)} would become version ${found.next_version}.`
    const warnings = found.warnings.map(({ message }) => `\n${style.warn('Warning:')} ${visible(message)}`)
    return { data: found, text: `${text}${warnings.join('')}` }
  }
  const lines = found.issues.map(
    ({ code, message, gate_id }) =>
      `  ${gate_id === null ? '' : `${visible(gate_id)}: `}${visible(message)} (${visible(code)})`,
  )
  return { data: found, text: [style.bad('Not valid:'), ...lines].join('\n'), exitCode: 1 }
}

import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeSimulation } from './describe.ts'
import { chooseRequests, loadIntent } from './policy-file.ts'
import { loadCedarTexts, nameTexts } from './cedar.ts'

/** Runs `boundary-policy simulate`: changes nothing. */
export async function runBoundaryPolicySimulate(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd } = context
  const intent = nameTexts(await loadIntent(cwd, args.required('file')), await loadCedarTexts(cwd, options))
  const requests = await chooseRequests(cwd, options)
  if (requests === undefined) throw usageError('Give --contexts <file> or --decisions.')
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.boundaryPolicies.simulate({ intent, ...requests }))
  return { data: found, text: describeSimulation(found).join('\n') }
}

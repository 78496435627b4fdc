import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { misuse } from '../../failure.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeSimulation } from './describe.ts'
import { chooseRequests, loadIntent } from './policy-file.ts'

/** boundary-policy simulate: asks, changes nothing. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd } = context
  const intent = await loadIntent(cwd, args.required('file'))
  const requests = await chooseRequests(cwd, options)
  if (requests === undefined) throw misuse('Say on what: --contexts <file> or --decisions.')
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.boundaryPolicies.simulate({ intent, ...requests }))
  return { data: found, text: describeSimulation(found).join('\n') }
}

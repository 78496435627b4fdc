import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeSimulation } from './describe.ts'
import { loadContexts, loadIntent } from './policy-file.ts'

/** boundary-policy simulate: asks, changes nothing. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd } = context
  const intent = await loadIntent(cwd, args.required('file'))
  const contexts = await loadContexts(cwd, options.required('contexts'))
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.boundaryPolicies.simulate({ intent, contexts }))
  return { data: found, text: describeSimulation(found).join('\n') }
}

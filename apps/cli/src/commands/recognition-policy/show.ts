import type { Arguments, Options } from '../../arguments/options.ts'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { describeRecognition } from './describe.ts'

/** Runs `recognition-policy show`. */
export async function runRecognitionPolicyShow(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const connection = await connect(context, options)
  const policy = await connection.ask((client) => client.recognitionPolicy.current())
  return { data: policy, text: describeRecognition(policy, context.style) }
}

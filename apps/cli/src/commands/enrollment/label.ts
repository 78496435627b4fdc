import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { loadPublicKey } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `node label`: names a node key for operators. */
export async function runNodeLabel(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key = await loadPublicKey(context.cwd, 'key', args.required('key'))
  const [given] = args.list('label')
  if ((given === undefined) !== options.isSet('remove')) throw usageError('Give a label, or --remove.')
  const connection = await connectAsOperator(context, options)
  const { node_public_key, label } = await connection.ask((client) =>
    client.enrollment.labelNode({ node_public_key: key, label: given ?? null }),
  )
  const done = label === null ? 'Removed' : 'Set'
  const what = label === null ? 'the label' : `the label ${visible(label)}`
  return {
    data: { node_public_key, label },
    ids: [node_public_key],
    text: `${context.style.good(done)} ${what} of ${node_public_key}.`,
  }
}

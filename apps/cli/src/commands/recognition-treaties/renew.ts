import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeTreaty } from './describe.ts'
import { findPredecessor, sameAs, succeed } from './succession.ts'

/** Runs `treaty renew`: it removes no recognition, so it does not ask. */
export async function runTreatyRenew(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const hours = wholeNumber(options, 'validity-hours', 1, 26_280)
  const connection = await connectAsOperator(context, options)
  const { treaty: old } = await findPredecessor(connection, args.required('id'))
  const treaty = await succeed(connection, old, sameAs(old, hours), 'renewed_by')
  const text = `${style.good('Renewed')} treaty ${visible(old.treaty_id)} by:\n${describeTreaty(treaty, style)}`
  return { data: { renewed: old.treaty_id, treaty }, ids: [treaty.treaty_id], text }
}

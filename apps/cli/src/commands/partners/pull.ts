import { asJson, visible } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { describePartner } from './describe.ts'

/** Runs `partner pull`: exit code 1 when the partner could not be read in full. */
export async function runPartnerPull(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const done = await connection.ask((client) => client.partners.pull(args.required('sovereign')))
  const isGood = done.outcome === 'ok' || done.outcome === 'unchanged'
  const changed = done.changed.length === 0 ? '' : ` New: ${done.changed.join(', ')}.`
  const first = `${isGood ? style.good('Pulled') : style.bad('Not pulled in full')}: ${visible(done.outcome)}.${visible(changed)}`
  return {
    data: asJson(done),
    // A failed pull says why, with --quiet as well.
    ...(isGood ? { ids: [done.partner.sovereign_id] } : {}),
    text: `${first}\n${describePartner(done.partner, context.now(), style)}`,
    exitCode: isGood ? 0 : 1,
  }
}

import { asJson, visible } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { describePartner } from './describe.ts'

/** Runs `partner clear-alarm`. */
export async function runPartnerClearAlarm(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { style } = context
  const [sovereign, alarm_id] = [args.required('sovereign'), args.required('alarm')]
  const reason = options.required('reason')
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.clearAlarm(sovereign, { alarm_id, reason }))
  const text = `${style.good('Cleared')} alarm ${visible(alarm_id)}.\n${describePartner(partner, context.now(), style)}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}

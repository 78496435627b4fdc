import { asJson, visible } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { requireConsent, requireInteractive } from '../../prompts/confirm.ts'
import { describePartner } from './describe.ts'
import { readPinOptions } from './pin.ts'

/** Runs `partner repin`: the owner of the new keys is the partner from then on, so it asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const sovereign = args.required('sovereign')
  const pin = await readPinOptions(context, options)
  requireInteractive(context, options)
  const connection = await connectAsOperator(context, options)
  await requireConsent(context, options, `Accept these keys of ${visible(sovereign)} at ${connection.url}?`)
  const reason = options.required('reason')
  const partner = await connection.ask((client) => client.partners.repin(sovereign, { ...pin, reason }))
  const text = `${style.good('Pinned')} the new keys of ${visible(partner.sovereign_id)}.\n${describePartner(partner, context.now(), style)}`
  return { data: asJson(partner), text }
}

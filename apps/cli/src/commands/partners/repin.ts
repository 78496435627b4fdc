import { asJson, visible } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { requireConsent } from '../../prompts/confirm.ts'
import { describePartner } from './describe.ts'
import { readPinOptions } from './pin.ts'

/** Runs `partner repin`: the owner of the new keys is the partner from then on, so it asks first. */
export async function runPartnerRepin(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const sovereign = args.required('sovereign')
  const pin = await readPinOptions(context, options)
  const connection = await connectAsOperator(context, options)
  const question = `Accept these keys of ${visible(sovereign)} at ${connection.url}?`
  await requireConsent(context, options, question, async () => {
    await connection.ask((client) => client.partners.find(sovereign))
  })
  const reason = options.required('reason')
  const partner = await connection.ask((client) => client.partners.repin(sovereign, { ...pin, reason }))
  const text = `${style.good('Pinned')} the new keys of ${visible(partner.sovereign_id)}.\n${describePartner(partner, context.now(), style)}`
  return { data: asJson(partner), ids: [partner.sovereign_id], text }
}

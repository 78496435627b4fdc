import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeAgreement, loadAgreement, loadOffer } from './records.ts'

/** Runs `agreement cosign`: the offerer signs what the responder accepted. */
export async function runAgreementCosign(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const agreement = await loadAgreement(cwd, args.required('agreement'))
  const original_offer = await loadOffer(cwd, options.required('offer'))
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.agreements.cosign({ agreement, original_offer })),
  )
  const text = `${style.good('Agreed, signed by both:')}\n${describeAgreement(record, style)}${saved}`
  return { data: record, ids: [record.agreement_id], text }
}

import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeTerms, loadOffer, readTerms } from './records.ts'

/** Runs `agreement counter`: other terms for an offer, signed for the responder. */
export async function runAgreementCounter(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const offer = await loadOffer(cwd, args.required('offer'))
  const terms = await readTerms(context, options)
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.agreements.counter({ offer, ...terms })),
  )
  const text = describeTerms(record, record.agreed_terms, style, [['offer', record.offer_id]])
  return { data: record, ids: [record.offer_id], text: `${style.good('Countered:')}\n${text}${saved}` }
}

import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeTerms, loadOffer, readTerms } from './records.ts'

/** agreement counter: other terms for an offer, signed in the responder's place. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const offer = await loadOffer(cwd, args.required('offer'))
  const terms = await readTerms(context, options)
  const connection = await connectAsOperator(context, options)
  const { record, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) => client.agreements.counter({ offer, ...terms })),
  )
  const text = describeTerms(record, record.agreed_terms, style, [['offer', record.offer_id]])
  return { data: record, text: `${style.good('Countered:')}\n${text}${kept}` }
}

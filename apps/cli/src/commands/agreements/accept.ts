import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeTerms, loadCounter, loadOffer } from './records.ts'

/** agreement accept: the record both parties can show from now on. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const offer = await loadOffer(cwd, args.required('offer'))
  const given = options.text('counter')
  const request = given === undefined ? { offer } : { counter: await loadCounter(cwd, given), original_offer: offer }
  const connection = await connectAsOperator(context, options)
  const { record, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) => client.agreements.accept(request)),
  )
  const signers = record.signatures.map(({ key_id }) => key_id).join(', ')
  const more = [
    ['agreement', record.agreement_id],
    ['signed by', signers],
  ] as const
  const text = describeTerms(record, record.agreed_terms, style, more)
  return { data: record, text: `${style.good('Agreed:')}\n${text}${kept}` }
}

import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeTerms, loadCounter, loadOffer } from './records.ts'

/** Runs `agreement accept`: creates the record that both parties can show. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const offer = await loadOffer(cwd, args.required('offer'))
  const given = options.text('counter')
  const request = given === undefined ? { offer } : { counter: await loadCounter(cwd, given), original_offer: offer }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.agreements.accept(request)),
  )
  const signers = record.signatures.map(({ key_id }) => key_id).join(', ')
  const more = [
    ['agreement', record.agreement_id],
    ['signed by', signers],
  ] as const
  const text = describeTerms(record, record.agreed_terms, style, more)
  return { data: record, text: `${style.good('Agreed:')}\n${text}${saved}` }
}

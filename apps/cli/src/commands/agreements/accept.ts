import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeAgreement, loadCounter, loadOffer } from './records.ts'

/** Runs `agreement accept`: creates the record that both parties can show. */
export async function runAgreementAccept(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const offer = await loadOffer(cwd, args.required('offer'))
  const given = options.text('counter')
  const request = given === undefined ? { offer } : { counter: await loadCounter(cwd, given), original_offer: offer }
  const connection = await connectAsOperator(context, options)
  const own = (await connection.ask((client) => client.sovereign.metadata())).sovereign_id
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.agreements.accept(request)),
  )
  const text = `${describeAgreement(record, style)}${saved}`
  const isForeign = given === undefined && offer.offerer_sovereign_id !== own
  const ids = [record.agreement_id]
  if (!isForeign) return { data: record, ids, text: `${style.good('Agreed:')}\n${text}` }
  const [half, original] = [options.text('out') ?? 'half.json', args.required('offer')]
  const hint = `${visible(offer.offerer_sovereign_id)} must sign it, too:\n  chancery agreement cosign ${half} --offer ${original} --out agreement.json`
  return { data: record, ids, text: `${style.good('Accepted, half signed:')}\n${text}\n${hint}` }
}

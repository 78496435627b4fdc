import { hours, verdictOf, writeInstant } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { saveRecord } from '../../files/save-record.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeTerms, readTerms } from './records.ts'

/** Runs `agreement offer`. With --json it prints the signed offer for the other party. */
export async function runAgreementOffer(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const openHours = wholeNumberOrDefault(options, 'open-hours', 1, 8760)
  const request = {
    ...(await readTerms(context, options)),
    responder_sovereign_id: args.required('responder'),
    expires_at: writeInstant(context.now() + hours(openHours)),
  }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(context.cwd, options, () =>
    connection.ask((client) => client.agreements.offer(request)),
  )
  const found = verdictOf(record.offerer_evidence)
  const verdict = typeof found === 'string' ? found : '-'
  if (verdict === 'block') context.note('no active treaty recognises this network, so the offer cannot be accepted')
  const more = [
    ['offer', record.offer_id],
    ['open until', record.expires_at],
    ['trust', verdict],
  ] as const
  const text = describeTerms(record, record.requested_terms, style, more)
  return { data: record, ids: [record.offer_id], text: `${style.good('Offered:')}\n${text}${saved}` }
}

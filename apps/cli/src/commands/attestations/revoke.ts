import { visible } from '@chancery/protocol'
import type { AttestationForecast } from '@chancery/sdk'
import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { countedText, foreseeThenAsk } from '../../foresee.ts'
import type { Forecast } from '../../foresee.ts'
import type { Arguments, Options } from '../../options.ts'

/** attestation revoke: final, so it shows what follows and asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id, reason] = [args.required('id'), options.textOrDefault('reason')]
  const connection = await connectAsOperator(context, options)
  const { forecast, only } = await foreseeThenAsk(context, options, {
    foresee: async () =>
      describeForecast(await connection.ask((client) => client.attestations.revoke(id, { reason, dryRun: true }))),
    question: `Revoke attestation ${visible(id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.attestations.revoke(id, { reason }))
  const text = `${context.style.good('Revoked')} attestation ${visible(done.attestation_id)}.\nOther sovereigns learn of it when they import the feed: chancery feed export`
  return { data: { ...done, forecast: forecast.data }, text }
}

function describeForecast(forecast: AttestationForecast): Forecast {
  const { attestation_id: id, would_change: wouldChange, accepting_sovereigns: accepting } = forecast
  if (!wouldChange)
    return { data: forecast, lines: [`Attestation ${visible(id)} is ${visible(forecast.status)} already.`] }
  const lines = [
    `Would stop being accepted: ${countedText(forecast.attestations_no_longer_accepted, 'attestation')}`,
    `Recognised by: ${countedText(accepting, 'sovereign')}`,
  ]
  return { data: forecast, lines }
}

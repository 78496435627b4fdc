import type { OperatorKeyForecast, OperatorKeyRevocation } from '@chancery/sdk'
import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { foreseeThenAsk } from '../../foresee.ts'
import type { Forecast } from '../../foresee.ts'
import { checkKeyId } from '../../keys.ts'
import type { Arguments, Options } from '../../options.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'
import { visible } from '../../output/visible.ts'

/** operator revoke: final, so it asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const keyId = checkKeyId(args.required('key_id'))
  const connection = await connectAsOperator(context, options)
  const reason = options.textOrDefault('reason')
  const { forecast, only } = await foreseeThenAsk(context, options, {
    foresee: async () =>
      describeForecast(await connection.ask((client) => client.operatorKeys.revoke(keyId, { reason, dryRun: true }))),
    question: `Revoke operator key ${keyId} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.operatorKeys.revoke(keyId, { reason }))
  const data = Object.fromEntries(Object.entries(done).filter(([, value]) => value !== undefined))
  return { data: { ...data, forecast: forecast.data }, text: describe(done, context.style) }
}

function describeForecast(forecast: OperatorKeyForecast): Forecast {
  const { would_change: wouldChange, remaining_active_keys: left } = forecast
  const key_id = visible(forecast.key_id)
  if (!wouldChange) return { data: forecast, lines: [`Operator key ${key_id} is revoked already.`] }
  const lines = [`No request signed with ${key_id} would be accepted any more.`, `Usable keys left: ${left ?? '-'}.`]
  return { data: forecast, lines }
}

function describe(done: OperatorKeyRevocation, style: Style): string {
  const key_id = visible(done.key_id)
  if (done.already_revoked) return `Operator key ${key_id} was revoked before; nothing changed.`
  const rows = fields(
    [
      ['revoked at', done.revoked_at ?? '-'],
      ['reason', done.reason ?? '-'],
      ['usable keys left', String(done.remaining_active_keys ?? '-')],
    ],
    style,
  )
  return `${style.good('Revoked')} operator key ${key_id}.\n${rows}`
}

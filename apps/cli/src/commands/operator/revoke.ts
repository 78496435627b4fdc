import { visible } from '@chancery/protocol'
import { ChanceryError } from '@chancery/sdk'
import type { OperatorKeyForecast, OperatorKeyRevocation } from '@chancery/sdk'
import { connectAsOperator } from '../../connection.ts'
import type { Connection } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import { foreseeThenAsk } from '../../foresee.ts'
import type { Forecast } from '../../foresee.ts'
import { checkKeyId } from '../../keys.ts'
import type { Arguments, Options } from '../../options.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'
import { activityLines } from './activity.ts'

/** operator revoke: final, so it asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const keyId = checkKeyId(args.required('key_id'))
  const connection = await connectAsOperator(context, options)
  const isForced = options.isSet('force')
  if (isForced && options.text('reason') === undefined)
    throw misuse('--force needs a reason.', 'Say why with --reason: the audit trail keeps it.')
  const request = { reason: options.textOrDefault('reason'), ...(isForced ? { force: true } : {}) }
  let openInvites: number | null = null
  const { forecast, only } = await foreseeThenAsk(context, options, {
    foresee: async () => {
      const foreseen = await connection.ask((client) => client.operatorKeys.revoke(keyId, { ...request, dryRun: true }))
      openInvites = foreseen.open_invites
      return describeForecast(foreseen, await findActivity(connection, foreseen))
    },
    question: `Revoke operator key ${keyId} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const withInvites = await wantsInvitesWithdrawn(context, options, openInvites)
  const done = await connection.ask((client) =>
    client.operatorKeys.revoke(keyId, { ...request, ...(withInvites ? { withdraw_invites: true } : {}) }),
  )
  const data = Object.fromEntries(Object.entries(done).filter(([, value]) => value !== undefined))
  return { data: { ...data, forecast: forecast.data }, text: describe(done, context.style) }
}

/** A revocation does not wait longer for it: the admin limit may be used up by whoever holds the key. */
const ACTIVITY_MS = 5000

/** Only from an authority that counts invites by key: it can also say what the key did. Never a reason not to revoke. */
async function findActivity(
  connection: Connection,
  { key_id, would_change: wouldChange, open_invites: open }: OperatorKeyForecast,
): Promise<readonly string[]> {
  if (open === null || !wouldChange) return []
  try {
    return activityLines(
      await connection.ask((client) => client.operatorKeys.activity(key_id, {}, { budgetMs: ACTIVITY_MS })),
    )
  } catch (error) {
    if (!(error instanceof ChanceryError) && !(error instanceof Failure)) throw error
    return ['What the key did could not be read; chancery operator activity shows it later.']
  }
}

/** A key that is withdrawn may have handed out invites to whoever holds it: they are offered for withdrawal with it. */
async function wantsInvitesWithdrawn(
  context: CommandContext,
  options: Options,
  openInvites: number | null,
): Promise<boolean> {
  if (options.isSet('withdraw-invites')) return true
  if (openInvites === null || openInvites === 0 || options.isSet('yes') || !context.isInteractive) return false
  return context.prompts.confirm(`Also withdraw the ${openInvites} of its invites that can still be used?`)
}

function describeForecast(forecast: OperatorKeyForecast, deeds: readonly string[]): Forecast {
  const { would_change: wouldChange, remaining_active_keys: left } = forecast
  const key_id = visible(forecast.key_id)
  if (!wouldChange) return { data: forecast, lines: [`Operator key ${key_id} is revoked already.`] }
  const privileged = forecast.remaining_privileged_keys
  const lines = [
    `No request signed with ${key_id} would be accepted any more.`,
    `Usable keys left: ${left ?? '-'}${privileged === null ? '' : `, privileged: ${privileged}`}.`,
    ...deeds,
  ]
  return { data: forecast, lines }
}

function describe(done: OperatorKeyRevocation, style: Style): string {
  const key_id = visible(done.key_id)
  if (done.already_revoked && (done.withdrawn_invites ?? 0) === 0)
    return `Operator key ${key_id} was revoked before; nothing changed.`
  if (done.already_revoked)
    return `Operator key ${key_id} was revoked before; withdrew ${done.withdrawn_invites} invites.`
  const rows = fields(
    [
      ['revoked at', done.revoked_at ?? '-'],
      ['reason', done.reason ?? '-'],
      ['usable keys left', String(done.remaining_active_keys ?? '-')],
      ...(done.remaining_privileged_keys === undefined
        ? []
        : [['of these privileged', String(done.remaining_privileged_keys)] as const]),
      ...(done.withdrawn_invites === undefined ? [] : [['invites withdrawn', String(done.withdrawn_invites)] as const]),
    ],
    style,
  )
  return `${style.good('Revoked')} operator key ${key_id}.\n${rows}`
}

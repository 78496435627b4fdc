import type { OperatorKeyRevocation } from '@chancery/sdk'
import { connectAsOperator } from '../../connection.ts'
import { requireConsent } from '../../confirm.ts'
import type { CommandContext, Result } from '../../context.ts'
import { checkKeyId } from '../../keys.ts'
import type { Arguments, Options } from '../../options.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

/** operator revoke: final, so it asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const keyId = checkKeyId(args.required('key_id'))
  const connection = await connectAsOperator(context, options)
  await requireConsent(context, options, `Revoke operator key ${keyId} at ${connection.url}? This cannot be undone.`)
  const reason = options.textOrDefault('reason')
  const done = await connection.ask((client) => client.operatorKeys.revoke(keyId, { reason }))
  const data = Object.fromEntries(Object.entries(done).filter(([, value]) => value !== undefined))
  return { data, text: describe(done, context.style) }
}

function describe(done: OperatorKeyRevocation, style: Style): string {
  if (done.already_revoked) return `Operator key ${done.key_id} was revoked before; nothing changed.`
  const rows = fields(
    [
      ['revoked at', done.revoked_at ?? '-'],
      ['reason', done.reason ?? '-'],
      ['usable keys left', String(done.remaining_active_keys ?? '-')],
    ],
    style,
  )
  return `${style.good('Revoked')} operator key ${done.key_id}.\n${rows}`
}

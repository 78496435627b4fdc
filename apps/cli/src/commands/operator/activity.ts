import { visible } from '@chancery/protocol'
import type { OperatorKeyActivity } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { checkKeyId } from '../../files/keys.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { plural } from '../../output/plural.ts'
import { shellWord } from '../../output/shell-word.ts'
import { table } from '../../output/table.ts'

/** Runs `operator activity`: shows the actions of a key from the audit log. */
export async function runOperatorActivity(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const keyId = checkKeyId(args.required('key_id'))
  const days = wholeNumberOrDefault(options, 'days', 1, 3650)
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.operatorKeys.activity(keyId, { days }))
  const lines = found.events.map(({ event_type, count, first_at, last_at }) =>
    [event_type, String(count), first_at, last_at].map((text) => visible(text)),
  )
  const rows = lines.length === 0 ? '' : `${table(['EVENT', 'COUNT', 'FIRST', 'LAST'], lines, context.style)}\n\n`
  const text = `${rows}${activityLines(context, found).join('\n')}`
  return { data: { ...found }, text }
}

/** Returns the activity as text lines. */
export function activityLines({ again }: Pick<CommandContext, 'again'>, found: OperatorKeyActivity): readonly string[] {
  const sum = found.events.reduce((total, { count }) => total + count, 0)
  const span = `from ${found.from} to ${found.until}`
  const key = visible(found.key_id)
  return [
    sum === 0 ? `${key} did nothing that is audited ${span}.` : `${key} did ${plural(sum, 'audited thing')} ${span}.`,
    ...(found.complete
      ? []
      : ['There are too many earlier events. On the host of the authority, chancery audit export has them.']),
    ...(found.open_invites === 0
      ? []
      : [
          `${found.open_invites} of its invites can still be used: ${again(`chancery invite withdraw --created-by ${shellWord(key)}`)}`,
        ]),
    ...((found.active_rules ?? 0) === 0
      ? []
      : [
          `${plural(found.active_rules ?? 0, 'admission rule')} of it in force: ${again(`chancery operator revoke ${shellWord(key)} --remove-rules`)}`,
        ]),
  ]
}

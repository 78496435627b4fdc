import { visible } from '@chancery/protocol'
import { ChanceryError } from '@chancery/sdk'
import type { OperatorKeyActivity, OperatorKeyPreview, OperatorKeyRevocation } from '@chancery/sdk/authority'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { shellWord } from '../../output/shell-word.ts'
import { type Result, type Style, fields, plural, table } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Preview, previewThenConfirm } from '../../prompts/preview.ts'
import { checkKeyId } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'

/** `operator list <key_id>`: shows the actions of a key from the audit log. */
export async function showActivity(context: CommandContext, options: Options, given: string): Promise<Result> {
  const keyId = checkKeyId(given)
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
      : ['There are too many earlier events. On the host of the authority, chancery authority audit has them.']),
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

/** Runs `operator revoke`: permanent, so it asks first. */
export async function runOperatorRevoke(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const keyId = checkKeyId(args.required('key_id'))
  const connection = await connectAsOperator(context, options)
  const isForced = options.isSet('force')
  if (isForced && options.text('reason') === undefined)
    throw usageError('--force needs a reason.', 'Give the reason with --reason. It is written to the audit log.')
  const request = { reason: options.textOrDefault('reason'), ...(isForced ? { force: true } : {}) }
  let openInvites: number | null = null
  let activeRules: number | null = null
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: async () => {
      const previewed = await connection.ask((client) =>
        client.operatorKeys.revoke(keyId, { ...request, dry_run: true }),
      )
      openInvites = previewed.open_invites
      activeRules = previewed.active_rules
      return describePreview(previewed, await findActivity(context, connection, previewed))
    },
    question: `Revoke operator key ${keyId} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const withInvites = await wantsInvitesWithdrawn(context, options, openInvites)
  const withRules = await wantsRulesRemoved(context, options, activeRules)
  const made = {
    ...(withInvites ? { withdraw_invites: true } : {}),
    ...(withRules ? { remove_rules: true } : {}),
  }
  const done = await connection.ask((client) => client.operatorKeys.revoke(keyId, { ...request, ...made }))
  const data = Object.fromEntries(Object.entries(done).filter(([, value]) => value !== undefined))
  return { data: { ...data, forecast: preview.data }, ids: [done.key_id], text: describe(done, context.style) }
}

/** Limit of the wait: a caller with the compromised key may use up the admin limit. */
const ACTIVITY_MS = 5000

/** Returns the activity of the key if the authority supports it. A failure never stops the revocation. */
async function findActivity(
  context: CommandContext,
  connection: Connection,
  { key_id, would_change: wouldChange, open_invites: open }: OperatorKeyPreview,
): Promise<readonly string[]> {
  if (open === null || !wouldChange) return []
  try {
    return activityLines(
      context,
      await connection.ask((client) => client.operatorKeys.activity(key_id, {}, { budgetMs: ACTIVITY_MS })),
    )
  } catch (error) {
    if (!(error instanceof ChanceryError) && !(error instanceof CommandError)) throw error
    return [
      `What the key did could not be read. Later: ${context.again(`chancery operator list ${shellWord(key_id)}`)}`,
    ]
  }
}

/** Offers to withdraw the invites of the key, because an attacker may have created them. */
async function wantsInvitesWithdrawn(
  context: CommandContext,
  options: Options,
  openInvites: number | null,
): Promise<boolean> {
  if (options.isSet('withdraw-invites')) return true
  if (openInvites === null || openInvites === 0 || options.isSet('yes') || !context.isInteractive) return false
  return context.prompts.confirm(`Also withdraw the ${openInvites} of its invites that can still be used?`)
}

/** Offers to remove the admission rules of the key, for the same reason. */
async function wantsRulesRemoved(
  context: CommandContext,
  options: Options,
  activeRules: number | null,
): Promise<boolean> {
  if (options.isSet('remove-rules')) return true
  if (activeRules === null || activeRules === 0 || options.isSet('yes') || !context.isInteractive) return false
  return context.prompts.confirm(`Also remove the ${plural(activeRules, 'admission rule')} that it added?`)
}

function describePreview(preview: OperatorKeyPreview, changes: readonly string[]): Preview {
  const { would_change: wouldChange, remaining_active_keys: left } = preview
  const key_id = visible(preview.key_id)
  if (!wouldChange) return { data: preview, lines: [`Operator key ${key_id} is revoked already.`] }
  const privileged = preview.remaining_privileged_keys
  const lines = [
    `No request signed with ${key_id} would be accepted any more.`,
    `Usable keys left: ${left ?? '-'}${privileged === null ? '' : `, privileged: ${privileged}`}.`,
    ...changes,
  ]
  return { data: preview, lines }
}

function describe(done: OperatorKeyRevocation, style: Style): string {
  const key_id = visible(done.key_id)
  if (done.already_revoked) {
    const [invites, rules] = [done.withdrawn_invites ?? 0, done.removed_rules ?? 0]
    const changes = [
      ...(invites === 0 ? [] : [`withdrew ${plural(invites, 'invite')}`]),
      ...(rules === 0 ? [] : [`removed ${plural(rules, 'admission rule')}`]),
    ]
    const changed = changes.length === 0 ? 'nothing changed' : changes.join(', ')
    return `Operator key ${key_id} was revoked before; ${changed}.`
  }
  const rows = fields(
    [
      ['revoked at', done.revoked_at ?? '-'],
      ['reason', done.reason ?? '-'],
      ['usable keys left', String(done.remaining_active_keys ?? '-')],
      ...(done.remaining_privileged_keys === undefined
        ? []
        : [['of these privileged', String(done.remaining_privileged_keys)] as const]),
      ...(done.withdrawn_invites === undefined ? [] : [['invites withdrawn', String(done.withdrawn_invites)] as const]),
      ...(done.removed_rules === undefined ? [] : [['rules removed', String(done.removed_rules)] as const]),
    ],
    style,
  )
  return `${style.good('Revoked')} operator key ${key_id}.\n${rows}`
}

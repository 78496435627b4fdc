import { asJson, visible } from '@chancery/protocol'
import type { Client, ListedRule, RemovedRule } from '@chancery/sdk/authority'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields, plural, table } from '../../output/screen.ts'
import { previewThenConfirm } from '../../prompts/preview.ts'
import { resolve } from 'node:path'
import { usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadNodeKey } from '../../files/keys.ts'
import { readAll } from '../../connection/read-all.ts'

const SHOWN = 10

/** `invite withdraw` with the name of a rule: shows the certificates that stay valid, then asks. */
export async function removeRule(context: CommandContext, options: Options, rule_id: string): Promise<Result> {
  const reason = options.textOrDefault('reason')
  const connection = await connectAsOperator(context, options)
  const { only } = await previewThenConfirm(context, options, {
    preview: async () => {
      const data = await connection.ask((client) => client.admission.remove(rule_id, { reason, dry_run: true }))
      return {
        data: { ...data },
        lines: ['No node could join or renew by this rule any more.', staysText(context, data)],
      }
    },
    question: `Remove the rule ${visible(rule_id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.admission.remove(rule_id, { reason }))
  return {
    data: { ...done },
    ids: done.certificates,
    text: `${context.style.good('Removed')} ${visible(rule_id)}.\n${staysText(context, done)}`,
  }
}

function staysText({ again }: CommandContext, { valid_certificates: count, certificates, more }: RemovedRule): string {
  if (count === 0) return 'No certificate of it is valid.'
  const named = certificates.slice(0, SHOWN).map((id) => `  ${again(`chancery node revoke ${visible(id)}`)}`)
  const rest = more || count > SHOWN ? ['  The rest are in --json.'] : []
  const number = more ? `More than ${count} certificates` : plural(count, 'certificate')
  return [
    `${number} of it ${count === 1 ? 'stays valid until it ends' : 'stay valid until they end'}. To end now:`,
    ...named,
    ...rest,
  ].join('\n')
}

const MAX_CHARACTERS = 8192

/** Runs `invite rule test`. The token is sent to the authority, which stores nothing of it. */
export async function runAdmissionTest(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const token = await readToken(context, options)
  const key = options.text('node')
  const node_public_key = key === undefined ? undefined : await loadNodeKey(context.cwd, '--node', key)
  const connection = await connectAsOperator(context, options)
  const evidence = { token, ...(node_public_key === undefined ? {} : { node_public_key }) }
  const verdict = await connection.ask((client) => client.admission.test(args.required('rule_id'), evidence))
  const rows = fields(
    [
      ['rule', verdict.rule_id],
      ['subject', verdict.evidence_subject ?? '-'],
      ['reason', verdict.reason ?? '-'],
      ['digest', verdict.evidence_digest],
    ],
    context.style,
  )
  const title = verdict.admitted
    ? context.style.good('The rule admits this token.')
    : 'The rule does not admit this token.'
  return { data: verdict, text: `${title}\n${rows}`, exitCode: verdict.admitted ? 0 : 1 }
}

/** The text is never repeated in an error: it is a secret. */
async function readToken(context: CommandContext, options: Options): Promise<string> {
  const file = options.text('token-file')
  let text = ''
  if (file !== undefined && file !== '-') text = await readText(resolve(context.cwd, file))
  else
    for await (const chunk of context.stdin) {
      text += String(chunk)
      if (text.length > MAX_CHARACTERS) break
    }
  const token = text.trim()
  if (token === '' || token.length > MAX_CHARACTERS || /\s/.test(token))
    throw usageError('No token was given.', 'Give --token-file <file>, or write the token to standard input.')
  return token
}

/** The admission rules in force, or all of them. */
export async function listRules(context: CommandContext, connection: Connection, isAll: boolean): Promise<Result> {
  const isShown = ({ status }: ListedRule): boolean => isAll || status === 'active'
  const all = await connection.ask((client) => readRules(client, isShown))
  const rules = all.filter(isShown)
  const data = asJson({ count: rules.length, rules })
  if (rules.length === 0) return { data, text: 'No admission rule: nodes join with invites only.', ids: [] }
  const rows = rules.map((rule) => [rule.rule_id, rule.status, String(rule.joins), rule.created_by, rule.admits])
  const notes = rules.flatMap(({ rule_id, warnings }) => warnings.map((warning) => `\n${rule_id}: ${warning}.`))
  return {
    data,
    ids: rules.map(({ rule_id }) => rule_id),
    text: `${table(['RULE', 'STATUS', 'JOINS', 'ADDED BY', 'ADMITS'], rows, context.style)}${notes.join('')}`,
  }
}

/** Reads pages up to the first rule that is not shown: those in force come first. */
async function readRules(client: Client, isShown: (rule: ListedRule) => boolean): Promise<readonly ListedRule[]> {
  const { rows } = await readAll(Number.POSITIVE_INFINITY, async (limit, cursor) => {
    const page = await client.admission.list({ limit, ...(cursor === undefined ? {} : { cursor }) })
    return { rows: page.rules, next: page.rules.every(isShown) ? page.next_cursor : null }
  })
  return rows
}

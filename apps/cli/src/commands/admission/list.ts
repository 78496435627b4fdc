import { asJson } from '@chancery/protocol'
import type { Client, ListedRule } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'
import { readAll } from '../../connection/read-all.ts'

/** Runs `admission list`. */
export async function runAdmissionList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const isShown = ({ status }: ListedRule): boolean => options.isSet('removed') || status === 'active'
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

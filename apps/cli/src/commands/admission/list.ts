import { asJson } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'

/** Runs `admission list`. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const all = await connection.ask((client) => client.admission.list())
  const rules = all.filter(({ status }) => options.isSet('removed') || status === 'active')
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

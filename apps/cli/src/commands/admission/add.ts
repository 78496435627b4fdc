import { asJson, joinAudience } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import type { Result } from '../../output/result.ts'
import { fields } from '../../output/table.ts'
import { readTerms } from './terms.ts'

/** Runs `admission add`. */
export async function runAdmissionAdd(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = options.text('keys-file')
  const keys = file === undefined ? undefined : await loadJsonObject(context.cwd, file)
  const request = readTerms(args.required('rule_id'), options, keys)
  const connection = await connectAsOperator(context, options)
  const { rule, admits, warnings } = await connection.ask((client) => client.admission.add(request))
  const audience = connection.authorityKey === undefined ? undefined : joinAudience(connection.authorityKey)
  const shown = rule.audience === 'plain' ? audience : audience && `${audience}:<node>, which join asks for by itself`
  const rows = fields(
    [['rule', rule.rule_id], ['admits', admits], ...(shown === undefined ? [] : [['audience', shown] as const])],
    context.style,
  )
  const notes = warnings.map((warning) => `\n  Note: ${warning}.`).join('')
  const data = asJson({ rule, admits, warnings, ...(audience === undefined ? {} : { audience }) })
  return { data, ids: [rule.rule_id], text: `${context.style.good('Added')} and signed.\n${rows}${notes}` }
}

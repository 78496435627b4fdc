import { asJson, visible } from '@chancery/protocol'
import type { ResourceHistory, VendorHistory } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { plural } from '../../output/plural.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'

const COLUMNS = ['store_sequence', 'recorded_at', 'entry_kind', 'outcome', 'capability', 'decision_id'] as const

/** Runs `evidence resource` and `evidence vendor`: entries in store order, with the report of the authority about them. */
export async function runEvidence(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id, isResource] = [args.required('id'), context.command.path.at(-1) === 'resource']
  const connection = await connectAsOperator(context, options)
  const data = await connection.ask(({ evidence }): Promise<ResourceHistory | VendorHistory> =>
    isResource ? evidence.resources(id) : evidence.vendors(id),
  )
  const { verified: isGood, failures } = data.verification
  const rows = data.entries.map(({ entry }) => COLUMNS.map((name) => visible(String(entry[name] ?? '-'))))
  const lines = [
    rows.length === 0
      ? 'Retention removed every entry. The head is in --json.'
      : table(['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'CAPABILITY', 'DECISION'], rows, context.style),
    ...(data.truncated ? ['Not complete: there are more entries than this answer has.'] : []),
    isGood
      ? `The authority found no failure in ${plural(rows.length, 'entry', 'entries')}. This command did not verify them.`
      : context.style.bad(`The authority found ${plural(failures.length, 'failure')}: see --json.`),
  ]
  const ids = data.entries.map(({ entry }) => String(entry.store_sequence))
  return { data: asJson(data), ids, text: lines.join('\n'), exitCode: isGood ? 0 : 1 }
}

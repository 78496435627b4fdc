import { type JsonObject, type JsonValue, isJsonObject, member, visible } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { plural } from '../../output/plural.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'

/** Runs `evidence resource` and `evidence vendor`: entries in store order, with the report of the authority about them. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id, isResource] = [args.required('id'), context.command.path.at(-1) === 'resource']
  const connection = await connectAsOperator(context, options)
  const data = await connection.ask(({ evidence }) => (isResource ? evidence.resource(id) : evidence.vendor(id)))
  const entries = listOf(data['entries']).map((each) => objectOf(member(objectOf(each), 'entry') ?? null))
  const report = objectOf(data['verification'] ?? null)
  const isGood = report['verified'] === true
  const rows = entries.map((entry) =>
    ['store_sequence', 'recorded_at', 'entry_kind', 'outcome', 'capability', 'decision_id'].map((name) =>
      wordOf(entry, name),
    ),
  )
  const failures = listOf(report['failures']).length
  const lines = [
    rows.length === 0
      ? 'Retention removed every entry. The head is in --json.'
      : table(['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'CAPABILITY', 'DECISION'], rows, context.style),
    ...(data['truncated'] === true ? ['Not complete: there are more entries than this answer has.'] : []),
    isGood
      ? `The authority found no failure in ${plural(rows.length, 'entry', 'entries')}. This command did not verify them.`
      : context.style.bad(`The authority found ${plural(failures, 'failure')}: see --json.`),
  ]
  const ids = entries.map((entry) => wordOf(entry, 'store_sequence'))
  return { data, ids, text: lines.join('\n'), exitCode: isGood ? 0 : 1 }
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

function wordOf(entry: JsonObject, name: string): string {
  const value = member(entry, name)
  return typeof value === 'string' || typeof value === 'number' ? visible(String(value)) : '-'
}

function objectOf(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {}
}

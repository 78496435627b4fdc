import type { DecisionCountQuery, StoredDecisionCount } from '@chancery/sdk'
import { asJson } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'

const COLUMNS = ['hour', 'capability', 'policy', 'outcome'] as const

/** evidence count */
export async function runEvidenceCount(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const [since, until, split] = [options.text('since'), options.text('until'), options.list('split')]
  const query: DecisionCountQuery = {
    by: options.textOrDefault('by') === 'hour' ? 'hour' : 'range',
    // The authority refuses an empty value.
    ...(split.length === 0 ? {} : { split: split.join(',') }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  }
  const connection = await connectAsOperator(context, options)
  const answer = await connection.ask((client) => client.evidence.counts(query))
  const [first] = answer.counts
  const more = answer.complete
    ? ''
    : '\nNot complete: there are more names, or older decisions are still being counted.'
  if (first === undefined)
    return { data: asJson(answer), text: `0 decisions from ${answer.since} to ${answer.until}.${more}` }
  const shown = COLUMNS.filter((name) => first[name] !== null)
  const toRow = (count: StoredDecisionCount): readonly string[] => [
    ...shown.map((name) => count[name] ?? '-'),
    String(count.decisions),
  ]
  const head = [...shown, 'decisions'].map((name) => name.toUpperCase())
  return { data: asJson(answer), text: `${table(head, answer.counts.map(toRow), context.style)}${more}` }
}

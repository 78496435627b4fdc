import type { DecisionGroup, NewestFilter } from '@chancery/sdk'
import { asJson } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { wholeNumber, wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'

const FLAGS = {
  requester: 'requester_sovereign_id',
  'failed-gate': 'failed_gate',
  vendor: 'vendor_id',
  capability: 'capability',
  outcome: 'outcome',
  since: 'since',
  until: 'until',
} as const

/** evidence decisions */
export async function runEvidenceDecisions(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const given = Object.entries(FLAGS).flatMap(([flag, name]) => {
    const value = options.text(flag)
    return value === undefined ? [] : [[name, value] as const]
  })
  const before = wholeNumber(options, 'before', 1, Number.MAX_SAFE_INTEGER)
  const filter: NewestFilter = {
    ...Object.fromEntries(given),
    ...(before === undefined ? {} : { before_sequence: before }),
    limit: wholeNumberOrDefault(options, 'limit', 1, 100),
  }
  const connection = await connectAsOperator(context, options)
  const page = await connection.ask((client) => client.evidence.decisions(filter))
  const more = page.next_before_sequence === null ? '' : `\nMore: add --before ${page.next_before_sequence}`
  const gap = page.complete ? '' : '\nNot complete: older decisions are still being indexed.'
  const head = ['SEQUENCE', 'RECORDED', 'OUTCOME', 'VENDOR', 'CAPABILITY', 'EXECUTIONS', 'DECISION']
  const rows = page.groups.map(toRow)
  const text = page.count === 0 ? `Nothing found.${gap}` : `${table(head, rows, context.style)}${more}${gap}`
  return { data: asJson(page), text, ids: page.groups.map(({ decision_id }) => decision_id) }
}

function toRow({ decision_id, executions, entries: [decision] }: DecisionGroup): readonly string[] {
  const entry = decision?.entry
  const { store_sequence, recorded_at, outcome, vendor_id, capability } = entry ?? {}
  return [store_sequence, recorded_at, outcome, vendor_id, capability, executions, decision_id].map((value) =>
    String(value ?? '-'),
  )
}

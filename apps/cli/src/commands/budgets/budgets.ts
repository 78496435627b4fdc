import type { Budget } from '@chancery/contract'
import { asJson, canonicalJson } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, type Style, fields, plural, table } from '../../output/screen.ts'

type State = 'open' | 'warning' | 'exhausted'

/** Runs `budget list`. */
export async function runBudgetList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const [source, requester] = [options.text('source'), options.text('requester')]
  const state = options.text('state') as State | undefined
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : wholeNumberOrDefault(options, 'limit', 1, 1000)
  const budgets: Budget[] = []
  let cursor: string | undefined
  do {
    const page = await connection.ask((client) =>
      client.budgets.list({
        limit: Math.min(most - budgets.length, 1000),
        ...(source === undefined ? {} : { source }),
        ...(requester === undefined ? {} : { requester }),
        ...(state === undefined ? {} : { state }),
        ...(cursor === undefined ? {} : { cursor }),
      }),
    )
    budgets.push(...page.budgets)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined && budgets.length < most)
  const data = { count: budgets.length, budgets: budgets.map((each) => asJson(each)), next_cursor: cursor ?? null }
  const ids = budgets.map(({ budget_key }) => budget_key)
  if (budgets.length === 0) return { data, ids, text: 'No budget has an open window.' }
  return { data, ids, text: describeList(budgets, cursor !== undefined, context.style) }
}

function describeList(budgets: readonly Budget[], hasMore: boolean, style: Style): string {
  const rows = budgets.map((each) => [
    each.source,
    each.window.name,
    canonicalJson(asJson(each.per)),
    each.used,
    each.reserved,
    amountText(each.limit, each.unit),
    each.budget_key,
  ])
  const head = ['SOURCE', 'WINDOW', 'PER', 'USED', 'RESERVED', 'LIMIT', 'KEY']
  const more = hasMore ? '; more with --all' : ''
  return `${table(head, rows, style)}\n\n${plural(budgets.length, 'budget')}${more}.`
}

const amountText = (amount: string, unit: string | null): string => (unit === null ? amount : `${amount} ${unit}`)

/** Runs `budget show`. */
export async function runBudgetShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const budget = await connection.ask((client) => client.budgets.show(args.required('key')))
  const { source, window, per, counts, decisions, unit } = budget
  const rows = [
    ['source', source],
    ['window', `${window.name}, ${window.from} to ${window.until}`],
    ['per', canonicalJson(asJson(per))],
    ['counts', counts],
    ['limit', amountText(budget.limit, unit)],
    ['used', `${budget.used}, of this reserved ${budget.reserved}`],
    ['remaining', budget.remaining],
  ] as const
  const used = decisions.map((each) => [each.decision_id, String(each.store_sequence), each.asked, each.state])
  const list = used.length === 0 ? [] : ['', table(['DECISION', 'ENTRY', 'ASKED', 'STATE'], used, style)]
  return { data: asJson(budget), ids: [budget.budget_key], text: [fields(rows, style), ...list].join('\n') }
}

import { visible } from '@chancery/protocol'
import type { CapabilityCount, Client } from '@chancery/sdk'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { cutText } from '../../output/cut-text.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'

const PAGE = 1000

interface Found {
  readonly rows: readonly CapabilityCount[]
  readonly total: number | null
  readonly isCut: boolean
}

/** Runs `agent capabilities`: lists capabilities with their number of agents. */
export async function runAgentCapabilities(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, PAGE)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  const { rows, total, isCut } = await connection.ask((client) => fetchRows(client, options.text('search'), most))
  const data = { count: rows.length, total, capabilities: rows.map((row) => ({ ...row })) }
  if (rows.length === 0) return { data, text: 'No agent has such a capability.', ids: [] }
  const lines = rows.map(({ capability, agents }) => [visible(capability), String(agents)])
  const number = rows.length === 1 ? '1 capability.' : `${rows.length} capabilities.`
  return {
    data,
    ids: rows.map(({ capability }) => capability),
    text: `${table(['CAPABILITY', 'AGENTS'], lines, context.style)}\n\n${number}${cutText(isCut, rows.length, total)}`,
  }
}

async function fetchRows(client: Client, q: string | undefined, most: number): Promise<Found> {
  const rows: CapabilityCount[] = []
  for (let cursor: string | undefined; ;) {
    const page = await client.agents.capabilities({
      limit: Math.min(PAGE, most - rows.length),
      ...(q === undefined ? {} : { q }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    rows.push(...page.capabilities)
    const next = page.next_cursor ?? undefined
    if (next === undefined) return { rows, total: rows.length, isCut: false }
    if (rows.length >= most || next === cursor) return { rows, total: page.total ?? null, isCut: true }
    cursor = next
  }
}

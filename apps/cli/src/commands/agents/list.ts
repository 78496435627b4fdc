import type { AgentDescriptor } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { Client } from '@chancery/sdk'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { agentTable, idsOf } from './agent-table.ts'
import { toJson, verifyAgent } from './verify-agent.ts'

const PAGE = 1000
/** Requests at a time, so that other callers are not slowed down. */
const AT_ONCE = 8

interface Found {
  readonly agents: readonly AgentDescriptor[]
  /** Number of registered agents at the start of the search. */
  readonly total: number
}

/**
 * Runs `agent list`. The registry answers only for one capability or one node key, so the node keys come from the
 * certificates. Ends when as many agents are found as are registered.
 */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, PAGE)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  const { agents, total } = await connection.ask((client) => findAgents(client, most))
  const against = { genesis: connection.genesis, now: context.now() }
  const verified = await Promise.all(agents.map((descriptor) => verifyAgent(descriptor, against)))
  const isBad = verified.some(({ problem }) => problem !== undefined)
  const data = { count: verified.length, total, agents: verified.map(toJson) }
  const cut =
    agents.length >= most && total > agents.length ? `\nShows ${agents.length} of ${total}. Add --all or --limit.` : ''
  const text =
    verified.length === 0
      ? 'No agent is registered. Register one with: chancery agent register --home <dir>'
      : `${agentTable(verified, context.style)}${cut}`
  return { data, text, ids: idsOf(verified), exitCode: isBad ? 1 : 0 }
}

async function findAgents(client: Client, most: number): Promise<Found> {
  const total = await client.agents.count()
  const wanted = Math.min(most, total)
  const agents: AgentDescriptor[] = []
  const seen = new Set<string>()
  for (let cursor: string | undefined; agents.length < wanted;) {
    const bounds = { state: 'valid', limit: PAGE, ...(cursor === undefined ? {} : { cursor }) } as const
    const page = await client.enrollment.certificates(bounds)
    const keys = page.certificates.map((each) => each.node_public_key).filter((key) => !seen.has(key) && seen.add(key))
    await addAgents(client, keys, wanted, agents)
    const next = page.next_cursor ?? undefined
    if (next === undefined || next === cursor) break
    cursor = next
  }
  return { agents: agents.slice(0, wanted), total }
}

async function addAgents(
  client: Client,
  keys: readonly string[],
  wanted: number,
  agents: AgentDescriptor[],
): Promise<void> {
  for (let at = 0; at < keys.length && agents.length < wanted; at += AT_ONCE) {
    const found = await Promise.all(keys.slice(at, at + AT_ONCE).map((key) => findAgent(client, key)))
    agents.push(...found.filter((each) => each !== undefined))
  }
}

async function findAgent(client: Client, key: string): Promise<AgentDescriptor | undefined> {
  try {
    return await client.agents.find(key)
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'agent_not_registered') return undefined
    throw error
  }
}

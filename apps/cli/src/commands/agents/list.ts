import type { AgentDescriptor } from '@chancery/protocol'
import type { AgentFilter, Client } from '@chancery/sdk'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { loadPublicKey } from '../../files/keys.ts'
import { cutText } from '../../output/cut-text.ts'
import type { Result } from '../../output/result.ts'
import { agentTable, idsOf } from './agent-table.ts'
import { toJson, verifyAgent } from './verify-agent.ts'

const PAGE = 1000

interface Found {
  readonly agents: readonly AgentDescriptor[]
  /** Null when the authority does not count them. */
  readonly total: number | null
  readonly isCut: boolean
}

/** Runs `agent list`: verifies every signature itself, because a registry could send forged agents. */
export async function runAgentList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, PAGE)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const filter = await readFilter(context.cwd, options)
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  const { agents, total, isCut } = await connection.ask((client) => fetchAgents(client, filter, most))
  const against = { genesis: connection.genesis, now: context.now() }
  const verified = await Promise.all(agents.map((descriptor) => verifyAgent(descriptor, against)))
  const isBad = verified.some(({ problem }) => problem !== undefined)
  const data = { count: verified.length, total, agents: verified.map(toJson) }
  const text =
    verified.length > 0
      ? `${agentTable(verified, context.style)}${cutText(isCut, agents.length, total)}`
      : Object.keys(filter).length > 0
        ? 'No agent matches.'
        : 'No agent is registered. Register one with: chancery agent register --home <dir>'
  return { data, text, ids: idsOf(verified), exitCode: isBad ? 1 : 0 }
}

async function readFilter(cwd: string, options: Options): Promise<AgentFilter> {
  const [q, capability, host] = [options.text('search'), options.text('capability'), options.text('host')]
  const [key, state, expires_before] = [options.text('node-key'), options.text('state'), options.text('expires-before')]
  return {
    ...(q === undefined ? {} : { q }),
    ...(capability === undefined ? {} : { capability }),
    ...(host === undefined ? {} : { host }),
    ...(key === undefined ? {} : { node_public_key: await loadPublicKey(cwd, '--node-key', key) }),
    ...(state === undefined ? {} : { state: state as NonNullable<AgentFilter['state']> }),
    ...(expires_before === undefined ? {} : { expires_before }),
  }
}

/** A page may have fewer rows than its limit, so the cursor says whether there are more. */
async function fetchAgents(client: Client, filter: AgentFilter, most: number): Promise<Found> {
  const agents: AgentDescriptor[] = []
  let total: number | null = null
  for (let cursor: string | undefined; ;) {
    const bounds = { limit: Math.min(PAGE, most - agents.length), ...(cursor === undefined ? {} : { cursor }) }
    const page = await client.agents.list({ ...filter, ...bounds })
    if (cursor === undefined) total = page.total ?? null
    agents.push(...page.agents.map(({ descriptor }) => descriptor))
    const next = page.next_cursor ?? undefined
    if (next === undefined) return { agents, total: agents.length, isCut: false }
    if (agents.length >= most || next === cursor) return { agents, total, isCut: true }
    cursor = next
  }
}

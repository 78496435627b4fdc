import { type AgentDescriptor, writeJson } from '@chancery/protocol'
import type { Client } from '@chancery/sdk/authority'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, type Style, cutText, plural } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Options } from '../../arguments/options.ts'
import { toCard } from './card.ts'
import { type VerifiedAgent, agentTable, idsOf, toJson, verifyAgent } from './agents.ts'

const PAGE = 1000

interface Found {
  readonly agents: readonly AgentDescriptor[]
  /** Null when there are too many to count; undefined when these are all. */
  readonly total: number | null | undefined
  readonly isCut: boolean
}

/** `agent list --capability`, without an operator key: verifies every signature itself. */
export async function findAgents(context: CommandContext, options: Options, capability: string): Promise<Result> {
  const [isAll, limit] = [options.isSet('all'), wholeNumberOrDefault(options, 'limit', 1, PAGE)]
  if (isAll && options.isSet('limit')) throw usageError('Give --limit or --all, not both.')
  const connection = await connect(context, options)
  const found = await connection.ask((client) =>
    isAll ? findAll(client, capability) : findSome(client, capability, limit),
  )
  const against = { genesis: connection.genesis, now: context.now() }
  const verified = await Promise.all(found.agents.map((descriptor) => verifyAgent(descriptor, against)))
  const bad = verified.filter(({ problem }) => problem !== undefined).length
  const exitCode = bad === 0 ? 0 : 1
  if (options.isSet('card')) return { ...asCards(context, verified), exitCode }
  const data = { capability, count: verified.length, total: totalOf(found), agents: verified.map(toJson) }
  return { data, text: describe(capability, found, verified, context.style), ids: idsOf(verified), exitCode }
}

async function findSome(client: Client, capability: string, limit: number): Promise<Found> {
  const { agents, total, next_cursor } = await client.agents.search(capability, { limit })
  return { agents, total, isCut: next_cursor !== null && next_cursor !== undefined }
}

async function findAll(client: Client, capability: string): Promise<Found> {
  const agents: AgentDescriptor[] = []
  for await (const descriptor of client.agents.searchAll(capability, { limit: PAGE })) agents.push(descriptor)
  return { agents, total: undefined, isCut: false }
}

function totalOf({ agents, total }: Found): number | null {
  return total === undefined ? agents.length : total
}

function describe(capability: string, found: Found, verified: readonly VerifiedAgent[], style: Style): string {
  if (verified.length === 0) return `No agent with the capability ${JSON.stringify(capability)} is registered.`
  return `${agentTable(verified, style)}${cutText(found.isCut, verified.length, totalOf(found))}`
}

/** Makes cards only of agents with a valid signature, because a card does not show the verdict. */
function asCards(context: CommandContext, verified: readonly VerifiedAgent[]): Result {
  const cards = verified.flatMap(({ problem, descriptor }) => (problem === undefined ? [toCard(descriptor)] : []))
  const leftOut = verified.length - cards.length
  if (leftOut > 0) context.note(`${plural(leftOut, 'agent')} omitted: the signature is not valid`)
  return { data: { cards, left_out: leftOut }, text: cards.map((card) => writeJson(card)).join('\n') }
}

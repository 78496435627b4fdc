import { instantOf, verifyAgentDescriptor } from '@chancery/protocol'
import type { AgentDescriptor, GenesisBlock, Instant } from '@chancery/protocol'
import { type CommandError, usageError } from '../../errors/failure.ts'
import { type Result, type Style, cutText, plural, table } from '../../output/screen.ts'
import type { CommandContext } from '../../context.ts'
import { connectAsNode } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { AgentFilter, Client } from '@chancery/sdk/authority'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { connectAsOperator, hasOperatorKey } from '../../connection/connection.ts'
import { findAgents } from './find.ts'
import { countCapabilities, showAgent } from './show.ts'
import { loadNodeKey } from '../../files/keys.ts'

/** Holds a found agent and the verdict on its signature. */
export interface VerifiedAgent {
  readonly descriptor: AgentDescriptor
  /** Why it must not be used; undefined when its node key signed it and it has not expired. */
  readonly problem: string | undefined
}

/**
 * Verifies the signature, which the registry cannot forge. Only the authority confirms that the node belongs to the
 * network: it checked the certificate when the agent registered.
 */
export async function verifyAgent(
  descriptor: AgentDescriptor,
  { genesis, now }: { readonly genesis: GenesisBlock | undefined; readonly now: Instant },
): Promise<VerifiedAgent> {
  if (!(await verifyAgentDescriptor(descriptor))) return { descriptor, problem: 'its node key did not sign it' }
  if (genesis !== undefined && descriptor.network_name !== genesis.network_name)
    return { descriptor, problem: 'it is of another network' }
  const isOver = instantOf(descriptor.expires_at) <= now
  return { descriptor, problem: isOver ? 'its time is over' : undefined }
}

export function verdictText({ problem }: VerifiedAgent): string {
  return problem === undefined ? 'valid' : `NOT VALID: ${problem}`
}

export function toJson({ descriptor, problem }: VerifiedAgent): {
  readonly valid: boolean
  readonly problem: string | null
  readonly descriptor: AgentDescriptor
} {
  return { valid: problem === undefined, problem: problem ?? null, descriptor }
}

export type Endpoint = AgentDescriptor['endpoint']

const PORTS: Readonly<Record<string, number>> = { http: 80, ws: 80, https: 443, wss: 443 }

export interface Address {
  readonly endpoint: Endpoint
  /** Path and query, when there is more than the root. */
  readonly path: string | undefined
  /** Scheme, host and port as a URL has them. */
  readonly origin: string
}

/** Splits a URL into its parts. The scheme is not changed: http does not become ws. */
export function readAddress(text: string, source: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.hostname === '') throw wrong(source, 'it is not a URL such as wss://host:7448')
  const scheme = url.protocol.slice(0, -1)
  if (!/^[a-z][a-z0-9+.-]{0,15}$/.test(scheme)) throw wrong(source, 'its scheme is longer than 16 characters')
  // A registration is public, so a password in it would be exposed.
  if (url.username !== '' || url.password !== '') throw wrong(source, 'it contains a user name or password')
  const port = url.port === '' ? PORTS[scheme] : Number(url.port)
  if (port === undefined || port < 1) throw wrong(source, `the default port of ${scheme} is unknown: add a port`)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const path = `${url.pathname}${url.search}`
  return {
    endpoint: { host, port, scheme },
    path: path === '' || path === '/' ? undefined : path,
    origin: `${scheme}://${url.host}`,
  }
}

/** --endpoint: nothing but scheme, host and port, because nothing else is registered. */
export function readEndpoint(text: string): Endpoint {
  const { endpoint, path } = readAddress(text, '--endpoint')
  if (path !== undefined)
    throw wrong('--endpoint', 'only scheme, host and port are registered; put a path into --metadata')
  return endpoint
}

export function endpointText({ host, port, scheme }: Endpoint): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function wrong(source: string, problem: string): CommandError {
  return usageError(`${source} cannot be used: ${problem}.`)
}

/** Returns one row per agent with its verdict, and a summary. */
export function agentTable(verified: readonly VerifiedAgent[], style: Style): string {
  const rows = verified.map((each) => [
    each.descriptor.agent_id,
    endpointText(each.descriptor.endpoint),
    each.descriptor.capabilities.join(','),
    each.descriptor.expires_at,
    verdictText(each),
    each.descriptor.node_public_key,
  ])
  const head = ['AGENT', 'ENDPOINT', 'CAPABILITIES', 'UNTIL', 'SIGNATURE', 'NODE KEY']
  return `${table(head, rows, style)}\n\n${summary(verified, style)}`
}

export function idsOf(verified: readonly VerifiedAgent[]): readonly string[] {
  return verified.map(({ descriptor }) => descriptor.agent_id)
}

function summary(verified: readonly VerifiedAgent[], style: Style): string {
  const [all, bad] = [verified.length, verified.filter(({ problem }) => problem !== undefined).length]
  const agents = plural(all, 'agent')
  if (bad === 0) return `${agents}; ${all === 1 ? 'its signature is' : 'all signatures are'} ${style.good('valid')}.`
  return `${agents}; ${style.bad(`${bad} must not be used`)}.`
}

/** Runs `agent remove`: only the node key can remove its agent. */
export async function runAgentRemove(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  await connection.ask((client) => client.agents.remove())
  const key = connection.signer.publicKey
  return {
    data: { node_public_key: key, withdrawn: true },
    ids: [key],
    text: `${context.style.good('Removed')} the agent of ${key}.`,
  }
}

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
  if (options.isSet('count-by')) return countCapabilities(context, options)
  const filter = await readFilter(context.cwd, options)
  const { capability, node_public_key: key } = filter
  if (options.isSet('card') && capability === undefined) throw usageError('--card needs --capability.')
  const isPublic = options.isSet('card') || !(await hasOperatorKey(context, options))
  if (key !== undefined && Object.keys(filter).length === 1) return showAgent(context, options, key)
  if (isPublic && capability !== undefined && Object.keys(filter).length === 1)
    return findAgents(context, options, capability)
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
        : 'No agent is registered.'
  return { data, text, ids: idsOf(verified), exitCode: isBad ? 1 : 0 }
}

async function readFilter(cwd: string, options: Options): Promise<AgentFilter> {
  const [q, capability, host] = [options.text('search'), options.text('capability'), options.text('host')]
  const [key, state, expires_before] = [options.text('node'), options.text('state'), options.text('expires-before')]
  return {
    ...(q === undefined ? {} : { q }),
    ...(capability === undefined ? {} : { capability }),
    ...(host === undefined ? {} : { host }),
    ...(key === undefined ? {} : { node_public_key: await loadNodeKey(cwd, '--node', key) }),
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

import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { connectAsNode } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Report, reporter } from '../../output/events.ts'
import { endpointText, readEndpoint } from './agents.ts'
import type { Instant } from '@chancery/protocol'
import { RefusedError, UsageError } from '@chancery/sdk'
import type { AgentFacts, Client } from '@chancery/sdk/authority'
import { schedule } from '@chancery/sdk/internal'
import { explain } from '../../errors/explain.ts'
import { resolve } from 'node:path'
import { usageError } from '../../errors/failure.ts'
import { readBytes } from '../../files/files.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { type CardFacts, capabilityProblem, readCard } from './card.ts'

const { after, isDue, refreshSeconds, retrySeconds, sleepMs } = schedule

export interface RegistrationParts {
  readonly context: Pick<CommandContext, 'now' | 'random'>
  readonly client: Client
  readonly report: Report
  readonly stop: AbortSignal
  readonly facts: AgentFacts
}

/** Refusals that a retry does not change. */
const FINAL: ReadonlySet<string> = new Set([
  'descriptor_network_mismatch',
  'descriptor_signature_required',
  'invalid_agent_descriptor',
  'invalid_signature',
  'node_has_no_active_certificate',
  'node_key_revoked',
])

const REMOVE_MS = 5000
const USUAL_LIFETIME_SECONDS = 600

/** Registers one agent and refreshes the registration. */
class Registration {
  readonly #parts: RegistrationParts
  #announceAt: Instant
  #failures = 0
  #isRegistered = false

  constructor(parts: RegistrationParts) {
    this.#parts = parts
    this.#announceAt = parts.context.now()
  }

  /** Registers when it is due. Throws only when a retry cannot succeed. */
  async step(): Promise<void> {
    const { context, client, facts, report, stop } = this.#parts
    if (!isDue(this.#announceAt, context.now(), facts.lifetimeSeconds ?? USUAL_LIFETIME_SECONDS)) return
    try {
      const { expires_at } = await client.agents.register(facts, { signal: stop })
      this.#failures = 0
      const wait = refreshSeconds(facts.lifetimeSeconds ?? USUAL_LIFETIME_SECONDS, context.random())
      this.#announceAt = after(context.now(), wait)
      const [event, text] = this.#isRegistered ? ['refreshed', 'registered again'] : ['registered', 'registered']
      this.#isRegistered = true
      const details = { agent_id: facts.agent_id, expires_at, refresh_in_seconds: Math.round(wait) }
      report({ event, facts: details, text: `${facts.agent_id} ${text}, until ${expires_at}`, tone: 'good' })
    } catch (error) {
      if (stop.aborted) return
      if (error instanceof UsageError || (error instanceof RefusedError && FINAL.has(error.code))) throw error
      this.#failures += 1
      const wait = retrySeconds(this.#failures, context.random())
      this.#announceAt = after(context.now(), wait)
      const { code, message } = explain(error)
      const details = { action: 'announce', code, message, retry_in_seconds: Math.ceil(wait), failures: this.#failures }
      const text = `registration failed: ${message} Trying again in ${Math.ceil(wait)} s`
      report({ event: 'failed', facts: details, text, tone: 'warn' })
    }
  }

  nextDelayMs(): number {
    return sleepMs(this.#parts.context.now(), this.#announceAt)
  }

  /** Removes the agent before the process ends. If that fails, the registration expires. */
  async remove(): Promise<void> {
    const { client, facts, report } = this.#parts
    if (!this.#isRegistered) return
    try {
      await client.agents.remove({ signal: AbortSignal.timeout(REMOVE_MS) })
      report({ event: 'withdrawn', facts: { agent_id: facts.agent_id }, text: `${facts.agent_id} removed` })
    } catch (error) {
      const { code, message } = explain(error)
      const details = { action: 'withdraw', code, message }
      report({
        event: 'failed',
        facts: details,
        text: `cannot remove the agent, so its registration expires: ${message}`,
        tone: 'warn',
      })
    }
  }
}

/** With a shorter lifetime, one failed refresh would let the registration expire. */
const SHORTEST_LIFETIME = 60

/** Returns what to register: the card, with the options of the command line taking precedence. */
async function readAgentFacts(context: CommandContext, options: Options, network_name: string): Promise<AgentFacts> {
  const card = await findCard(context, options)
  const [agent_id, given] = [options.text('agent-id') ?? card?.agent_id, options.text('endpoint')]
  const endpoint = given === undefined ? card?.endpoint : readEndpoint(given)
  if (agent_id === undefined || endpoint === undefined) {
    const missing = [
      ...(agent_id === undefined ? ['--agent-id'] : []),
      ...(endpoint === undefined ? ['--endpoint'] : []),
    ]
    throw usageError(
      `${missing.join(' and ')} must be given.`,
      'Or give --card <file>, an A2A agent card with these fields.',
    )
  }
  const capabilities = readCapabilities(options.list('capability'), card)
  if (capabilities.length === 0) context.note('searches do not find an agent without --capability')
  return {
    agent_id,
    network_name,
    capabilities,
    endpoint,
    metadata: { ...card?.metadata, ...readPairs(options, 'metadata') },
    lifetimeSeconds: timeSpanOrDefault(options, 'valid-for', { unit: 's', min: SHORTEST_LIFETIME, max: 86_400 }),
  }
}

async function findCard({ cwd }: CommandContext, options: Options): Promise<CardFacts | undefined> {
  const [file, cardUrl] = [options.text('card'), options.text('card-url')]
  if (file === undefined && cardUrl !== undefined) throw usageError('--card-url needs --card.')
  if (cardUrl !== undefined && !URL.canParse(cardUrl)) throw usageError('--card-url is not a URL.')
  if (file === undefined) return undefined
  const bytes = await readBytes(resolve(cwd, file))
  return readCard(bytes, {
    publishedAt: cardUrl,
    withSkills: options.list('capability').length === 0,
    withName: !options.isSet('agent-id'),
  })
}

function readCapabilities(given: readonly string[], card: CardFacts | undefined): readonly string[] {
  if (given.length === 0) return card?.capabilities ?? []
  for (const tag of given) {
    const problem = capabilityProblem(tag)
    if (problem !== undefined) throw usageError(`--capability: ${JSON.stringify(tag)} ${problem}.`)
  }
  return [...new Set(given)]
}

/** Runs `agent register`: refreshes the registration until stopped; with --once it registers and exits. */
export async function runAgentRegister(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const facts = await readAgentFacts(context, options, connection.genesis.network_name)
  if (options.isSet('once')) {
    const { descriptor, expires_at } = await connection.ask((client) => client.agents.register(facts))
    const rows = fields(
      [
        ['capabilities', descriptor.capabilities.join(', ') || '-'],
        ['endpoint', endpointText(descriptor.endpoint)],
        ['until', expires_at],
        ['node key', descriptor.node_public_key],
      ],
      context.style,
    )
    return {
      data: { expires_at, descriptor },
      ids: [facts.agent_id],
      text: `${context.style.good('Registered')} ${facts.agent_id}.\n${rows}`,
    }
  }
  const client = await connection.client()
  const [report, stop] = [reporter(context), context.stop()]
  const registration = new Registration({ context, client, report, stop, facts })
  while (!stop.aborted) {
    await registration.step()
    await context.sleep(registration.nextDelayMs(), stop)
  }
  await registration.remove()
  report({ event: 'stopped', text: 'stopped by a signal' })
  return {}
}

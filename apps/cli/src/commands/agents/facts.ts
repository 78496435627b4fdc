import { resolve } from 'node:path'
import type { AgentFacts } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { readBytes } from '../../files/files.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Options } from '../../arguments/options.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { type CardFacts, capabilityProblem, readCard } from './card.ts'
import { readEndpoint } from './endpoint.ts'

/** With a shorter lifetime, one failed refresh would let the registration expire. */
const SHORTEST_LIFETIME = 60

/** Returns what to register: the card, with the options of the command line taking precedence. */
export async function readAgentFacts(
  context: CommandContext,
  options: Options,
  network_name: string,
): Promise<AgentFacts> {
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
    lifetimeSeconds: wholeNumberOrDefault(options, 'lifetime-seconds', SHORTEST_LIFETIME, 86_400),
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

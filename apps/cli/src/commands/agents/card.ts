import { JsonError, isJsonObject, isPlainText, member, readJsonBytes, sha256Hex, visible } from '@chancery/protocol'
import type { AgentDescriptor, JsonObject, JsonValue } from '@chancery/protocol'
import { DESCRIPTOR_EXTENSION, carriedRecord } from '@chancery/sdk/internal'
import { CommandError } from '../../errors/failure.ts'
import { type Endpoint, endpointText, readAddress } from './agents.ts'

/** Maps an agent card to the fields of a descriptor, as documented in docs/agent-cards.md. */
export interface CardFacts {
  readonly agent_id: string | undefined
  readonly capabilities: readonly string[]
  readonly endpoint: Endpoint
  readonly metadata: JsonObject
}

const WELL_KNOWN = '/.well-known/agent-card.json'

export interface CardReading {
  /** Where others find exactly these bytes; else the well-known location of the address is used. */
  readonly publishedAt?: string | undefined
  /** Off when flags name the capabilities: then the skills may have any form. */
  readonly withSkills: boolean
  /** Off when a flag gives the id. */
  readonly withName: boolean
}

/** Reads an A2A agent card. */
export function readCard(bytes: Uint8Array, { publishedAt, withSkills, withName }: CardReading): CardFacts {
  const card = parse(bytes)
  const { endpoint, path, origin } = readAddress(addressOf(card), 'The address in the card')
  const cardUrl = publishedAt ?? (/^https?:/.test(origin) ? `${origin}${WELL_KNOWN}` : undefined)
  return {
    agent_id: withName ? readName(member(card, 'name')) : undefined,
    capabilities: withSkills ? readSkills(member(card, 'skills')) : [],
    endpoint,
    metadata: {
      ...(cardUrl === undefined ? {} : { card_url: cardUrl }),
      // Over the bytes, so that anyone can compare: curl … | sha256sum
      card_digest: `sha256:${sha256Hex(bytes)}`,
      ...(path === undefined ? {} : { path }),
      ...interfaceFacts(card),
    },
  }
}

/** What the agent speaks at that address, so that a card made of the registration says the same. */
function interfaceFacts(card: JsonObject): JsonObject {
  const first = firstInterface(card)
  const [binding, version] = first
    ? [member(first, 'protocolBinding'), member(first, 'protocolVersion')]
    : [member(card, 'preferredTransport'), member(card, 'protocolVersion')]
  return {
    ...(isPlain(binding) ? { protocol_binding: binding } : {}),
    ...(isPlain(version) ? { protocol_version: version } : {}),
  }
}

function isPlain(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && isPlainText(value, 64)
}

function parse(bytes: Uint8Array): JsonObject {
  try {
    const value = readJsonBytes(bytes)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw unusable(`it is not JSON: ${error.message}`)
  }
  throw unusable('it is not a JSON object')
}

/** `url` up to A2A 0.3; from 1.0 on the first of supportedInterfaces is the preferred one. */
function addressOf(card: JsonObject): string {
  const url = member(card, 'url')
  if (typeof url === 'string') return url
  const first = firstInterface(card)
  const address = first && member(first, 'url')
  if (typeof address === 'string') return address
  throw unusable('it names no address: neither url nor supportedInterfaces')
}

function firstInterface(card: JsonObject): JsonObject | undefined {
  const interfaces = member(card, 'supportedInterfaces')
  const first: JsonValue | undefined = Array.isArray(interfaces) ? (interfaces as readonly JsonValue[])[0] : undefined
  return isJsonObject(first) ? first : undefined
}

function readName(name: JsonValue | undefined): string {
  if (typeof name !== 'string') throw unusable('name is not a text')
  return toAgentId(name)
}

/** Lower case, words joined by a dash, because an id is typed and compared. */
export function toAgentId(name: string): string {
  const letters = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const id = letters
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 128)
  if (id === '') throw unusable('its name has no letter an id could be made of', 'Give --agent-id <id>.')
  return id
}

const MAX_CAPABILITIES = 64

/** Ids of skills become capabilities unchanged, because searches match exactly. */
function readSkills(skills: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(skills)) throw unusable('skills is not a list')
  const ids = (skills as readonly JsonValue[]).map((skill) => (isJsonObject(skill) ? member(skill, 'id') : undefined))
  const problems = ids.flatMap((id, index) => {
    if (typeof id !== 'string') return [`skills[${index}] has no id`]
    const problem = capabilityProblem(id)
    return problem === undefined ? [] : [`skills[${index}] "${visible(id.slice(0, 128))}" ${problem}`]
  })
  const distinct = [...new Set(ids as readonly string[])]
  if (distinct.length > MAX_CAPABILITIES) problems.push(`it has more than ${MAX_CAPABILITIES} skills`)
  if (problems.length === 0) return distinct
  const hint = 'Rename the skills, or name the capabilities with --capability; those of the card are then not used.'
  throw unusable(problems.join('; '), hint)
}

/** The grammar of protocol/core 13.1, one reason at a time. */
export function capabilityProblem(tag: string): string | undefined {
  if (tag === '') return 'is empty'
  if (tag.includes(',')) return 'contains a comma'
  if (/\s/u.test(tag)) return 'contains white space'
  if (!isPlainText(tag, Number.MAX_SAFE_INTEGER)) return 'contains a control character'
  return isPlainText(tag, 128) ? undefined : 'is longer than 128 characters'
}

function unusable(problem: string, hint?: string): CommandError {
  return new CommandError({ code: 'invalid_card', message: `The agent card cannot be used: ${problem}.`, hint })
}

/** Returns a card of A2A 1.0 for a found agent. It has only registered fields. card_url may point to the full card. */
export function toCard(descriptor: AgentDescriptor): JsonObject {
  const { agent_id, network_name, capabilities, endpoint, metadata, expires_at } = descriptor
  const [cardUrl, path] = [member(metadata, 'card_url'), member(metadata, 'path')]
  const [binding, version] = [member(metadata, 'protocol_binding'), member(metadata, 'protocol_version')]
  const full = typeof cardUrl === 'string' ? ` The agent's own card is at ${cardUrl}.` : ''
  const isHttp = /^https?$/.test(endpoint.scheme)
  return {
    name: agent_id,
    description: `Registered in ${network_name} until ${expires_at}.${full}`,
    version: 'unknown',
    supportedInterfaces: [
      {
        url: `${endpointText(endpoint)}${typeof path === 'string' && path.startsWith('/') ? path : ''}`,
        protocolBinding: isPlain(binding) ? binding : isHttp ? 'JSONRPC' : endpoint.scheme.toUpperCase(),
        protocolVersion: isPlain(version) ? version : '1.0',
      },
    ],
    capabilities: {
      extensions: [
        {
          uri: DESCRIPTOR_EXTENSION,
          description: 'The registration this card was made from, signed by the node key',
          params: { descriptor: carriedRecord(descriptor) },
        },
      ],
    },
    defaultInputModes: UNKNOWN_MODES,
    defaultOutputModes: UNKNOWN_MODES,
    skills: capabilities.map((id) => ({ id, name: id, description: `Capability ${id}.`, tags: [id] })),
  }
}

/** A registration does not say which, and A2A 1.0 requires one. */
const UNKNOWN_MODES = ['application/octet-stream']

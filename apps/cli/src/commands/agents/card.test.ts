import { type AgentDescriptor, JsonFloat, type JsonObject, readJsonBytes, seedSigner, toUtf8 } from '@chancery/protocol'
import { DESCRIPTOR_EXTENSION, cardProblems, carriedBytes, extensionsOf } from '@chancery/sdk/internal'
import { testSeed } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { capabilityProblem, readCard, toAgentId, toCard } from './card.ts'
import { endpointText, readAddress, readEndpoint } from './agents.ts'

const CARD = {
  protocolVersion: '0.3.0',
  name: 'GeoSpatial Route Planner Agent',
  url: 'https://georoute.example.com/a2a/v1?tenant=1',
  version: '1.2.0',
  capabilities: { streaming: true },
  skills: [
    { id: 'route-optimizer-traffic', name: 'Traffic', tags: ['maps', 'two words'] },
    { id: 'llm:chat', name: 'Chat', tags: [] },
  ],
}

const ALL = { withSkills: true, withName: true }

function bytes(change: Partial<Record<string, unknown>> = {}): Uint8Array {
  return toUtf8(JSON.stringify({ ...CARD, ...change }))
}

describe('readCard', () => {
  it('takes id, capabilities, endpoint and where the card is', () => {
    expect(readCard(bytes(), ALL)).toEqual({
      agent_id: 'geospatial-route-planner-agent',
      capabilities: ['route-optimizer-traffic', 'llm:chat'],
      endpoint: { host: 'georoute.example.com', port: 443, scheme: 'https' },
      metadata: {
        card_url: 'https://georoute.example.com/.well-known/agent-card.json',
        card_digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
        path: '/a2a/v1?tenant=1',
        protocol_version: '0.3.0',
      },
    })
  })

  it('takes the digest over the bytes as they are', () => {
    const spaced = toUtf8(JSON.stringify(CARD, undefined, 2))
    expect(readCard(spaced, ALL).metadata['card_digest']).not.toBe(readCard(bytes(), ALL).metadata['card_digest'])
    // echo -n '{"name":"a","url":"ws://h","skills":[]}' | sha256sum
    const small = toUtf8('{"name":"a","url":"ws://h","skills":[]}')
    expect(readCard(small, ALL).metadata).toEqual({
      card_digest: 'sha256:b7b5aaa52c8d878a74ffc852532cb872f78d02a28e499743a63f91cbae913a29',
    })
  })

  it('uses the given card address', () => {
    expect(readCard(bytes(), { ...ALL, publishedAt: 'https://cdn/x.json' }).metadata).toMatchObject({
      card_url: 'https://cdn/x.json',
    })
  })

  it('reads the first interface of a card of A2A 1.0', () => {
    const supportedInterfaces = [{ url: 'https://new.example.com', protocolBinding: 'JSONRPC' }, { url: 'grpc://x:1' }]
    expect(readCard(bytes({ url: undefined, supportedInterfaces }), ALL).endpoint.host).toBe('new.example.com')
  })

  it.each([
    [
      { skills: [{ id: 'a b' }, { id: 'ok' }, { id: 'a,b' }] },
      'skills[0] "a b" contains white space; skills[2] "a,b" contains a comma',
    ],
    [{ skills: [{ id: '' }] }, 'is empty'],
    [{ skills: [{ id: 'a\u0001' }] }, 'contains a control character'],
    [{ skills: [{ id: 'x'.repeat(129) }] }, 'is longer than 128 characters'],
    [{ skills: [{ name: 'no id' }] }, 'skills[0] has no id'],
    [{ skills: 'all' }, 'skills is not a list'],
    [{ skills: Array.from({ length: 65 }, (_each, index) => ({ id: `s${index}` })) }, 'more than 64 skills'],
    [{ name: 7 }, 'name is not a text'],
    [{ name: '!!!' }, 'no letter an id could be made of'],
    [{ url: undefined }, 'names no address'],
    [{ url: 'georoute' }, 'is not a URL'],
    [{ url: 'https://me:secret@host' }, 'user name or password'],
    [{ url: 'grpc://host' }, 'the default port of grpc is unknown'],
  ])('refuses %j with the reason', (change, reason) => {
    expect(() => readCard(bytes(change), ALL)).toThrow(reason)
  })

  it('never repeats a password', () => {
    expect(() => readCard(bytes({ url: 'https://me:canary@host' }), ALL)).toThrow(/^(?!.*canary)/)
  })

  it.each([
    ['not json', 'it is not JSON'],
    ['[]', 'not a JSON object'],
    ['{"name":"a","name":"b"}', 'a member name is repeated'],
  ])('refuses the text %s', (text, reason) => {
    expect(() => readCard(toUtf8(text), ALL)).toThrow(reason)
  })

  it('ignores fields that flags replace', () => {
    const facts = readCard(bytes({ name: 7, skills: [{ id: 'a b' }] }), { withSkills: false, withName: false })
    expect(facts).toMatchObject({ agent_id: undefined, capabilities: [] })
  })
})

describe('toAgentId', () => {
  it.each([
    ['Travel Planner', 'travel-planner'],
    ['  Zoë’s  Agent (v2) ', 'zoe-s-agent-v2'],
    ['x'.repeat(200), 'x'.repeat(128)],
  ])('%j becomes %j', (name, id) => {
    expect(toAgentId(name)).toBe(id)
  })
})

describe('capabilityProblem', () => {
  it.each(['llm:chat', 'kb/security', 'größe', '😀'.repeat(128)])('allows %s', (tag) => {
    expect(capabilityProblem(tag)).toBeUndefined()
  })
})

describe('an endpoint', () => {
  it.each([
    ['wss://host:7448', { host: 'host', port: 7448, scheme: 'wss' }, 'wss://host:7448'],
    ['ws://host', { host: 'host', port: 80, scheme: 'ws' }, 'ws://host:80'],
    ['http://host', { host: 'host', port: 80, scheme: 'http' }, 'http://host:80'],
    ['https://[2001:db8::1]/', { host: '2001:db8::1', port: 443, scheme: 'https' }, 'https://[2001:db8::1]:443'],
    ['quic://host:1', { host: 'host', port: 1, scheme: 'quic' }, 'quic://host:1'],
  ])('%s keeps its scheme', (text, endpoint, shown) => {
    expect(readEndpoint(text)).toEqual(endpoint)
    expect(endpointText(readEndpoint(text))).toBe(shown)
  })

  it.each([
    'host:7448',
    'wss://',
    'wss://host:7448/path',
    'quic://host',
    'averyveryverylongscheme://host:1',
    'wss://host:0',
  ])('%s is refused', (text) => {
    expect(() => readEndpoint(text)).toThrow('--endpoint cannot be used')
  })

  it('of a card may have a path', () => {
    expect(readAddress('https://h/a?b=c#d', 'x')).toMatchObject({ path: '/a?b=c', origin: 'https://h' })
  })
})

describe('toCard', () => {
  it('says what is registered and carries the signed registration', async () => {
    const { publicKey } = await seedSigner('n', testSeed('card'))
    const descriptor: AgentDescriptor = {
      agent_id: 'a',
      node_public_key: publicKey,
      network_name: 'N',
      capabilities: ['x', 'y'],
      endpoint: { host: 'h', port: 443, scheme: 'https' },
      registered_at: '2030-01-02T03:00:00Z',
      expires_at: '2030-01-02T03:10:00Z',
      metadata: { path: '/p', card_url: 'https://h/c.json', temperature: new JsonFloat(0.5) },
      signatures: [],
    }
    const card = toCard(descriptor)
    expect(card).toMatchObject({
      name: 'a',
      supportedInterfaces: [{ url: 'https://h:443/p', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      skills: [{ id: 'x' }, { id: 'y' }],
    })
    expect(card['description']).toContain('https://h/c.json')
    // It is a card of A2A 1.0 that its owner can sign.
    expect(cardProblems(card)).toEqual([])
    const [extension] = extensionsOf(card, DESCRIPTOR_EXTENSION)
    // Written and read again the descriptor is the same: its signature still covers it.
    const bytes = carriedBytes((extension?.['params'] ?? {}) as JsonObject, 'descriptor') ?? new Uint8Array()
    expect(readJsonBytes(bytes)).toEqual(descriptor)
  })

  it('says what the agent speaks, as its card said when it registered', async () => {
    const { publicKey } = await seedSigner('n', testSeed('card'))
    const supportedInterfaces = [{ url: 'https://h/r', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }]
    const { metadata, endpoint, capabilities } = readCard(bytes({ url: undefined, supportedInterfaces }), ALL)
    const times = { registered_at: '2030-01-02T03:00:00Z', expires_at: '2030-01-02T03:10:00Z' }
    const names = { agent_id: 'a', node_public_key: publicKey, network_name: 'N' }
    const card = toCard({ ...names, ...times, endpoint, metadata, capabilities, signatures: [] })
    expect(card['supportedInterfaces']).toEqual([{ ...supportedInterfaces[0], url: 'https://h:443/r' }])
  })
})

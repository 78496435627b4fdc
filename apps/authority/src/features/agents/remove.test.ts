import { draftAgentDescriptor, seconds, signAgentDelete, signList, writeInstant } from '@chancery/protocol'
import type { Instant, JsonValue, Signer } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  seedCertificates,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0

async function newAgent(): Promise<Signer> {
  const name = `remove-${(counter += 1)}`
  const signer = await testSigner((await testSigner('node', name)).publicKey, name)
  await seedCertificates(na.parts, { count: 1, node_public_key: signer.publicKey })
  accepted(await register(signer))
  return signer
}

async function register(signer: Signer, at: Instant = clock.now()): Promise<TestResponse> {
  const draft = draftAgentDescriptor({
    agent_id: 'llm-1',
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities: [`tag-${signer.publicKey.slice(0, 8)}`],
    endpoint: { host: '198.51.100.7', port: 7448 },
    registered_at: writeInstant(at),
    expires_at: writeInstant(at + seconds(600)),
  })
  return na.request('POST', '/agents', { body: await signList(draft, signer) })
}

const path = (key: string): string => `/agents/${encodeURIComponent(key)}`

async function envelope(signer: Signer, at: Instant = clock.now()): Promise<Record<string, JsonValue>> {
  return { ...(await signAgentDelete(writeInstant(at), signer)) }
}

const remove = (signer: Signer, body: Readonly<Record<string, JsonValue>>): Promise<TestResponse> =>
  na.request('DELETE', path(signer.publicKey), { body })

describe('DELETE /agents/{node_public_key}', () => {
  it('removes the agent from every response and audits it', async () => {
    const signer = await newAgent()
    const tag = `tag-${signer.publicKey.slice(0, 8)}`
    const answer = await remove(signer, await envelope(signer))
    expect(accepted(answer)).toEqual({ status: 'deregistered' })
    const [event, ...more] = await eventsOf(na, answer)
    expect(more).toEqual([])
    expect(event).toMatchObject({ event_type: 'agent_deregistered' })
    expect(detailsOf(event)).toEqual({
      agent_id: 'llm-1',
      node_public_key: signer.publicKey,
      remote_addr: '127.0.0.1',
      request_id: answer.headers['x-request-id'],
    })
    refused(await na.request('GET', path(signer.publicKey)), 404, 'agent_not_registered')
    const found = await na.request('GET', `/agents?capability=${encodeURIComponent(tag)}`)
    expect(accepted(found)).toMatchObject({ count: 0, agents: [] })
    refused(await remove(signer, await envelope(signer)), 404, 'agent_not_registered')
  })

  it('accepts the key in the path with unencoded slashes', async () => {
    let signer = await newAgent()
    while (!signer.publicKey.includes('/')) signer = await newAgent()
    const answer = await na.request('DELETE', `/agents/${signer.publicKey}`, { body: await envelope(signer) })
    accepted(answer)
  })

  it('accepts an envelope without a version', async () => {
    const signer = await newAgent()
    const { version: _, ...body } = await envelope(signer)
    accepted(await remove(signer, body))
  })

  it.each([
    ['300 s old', -seconds(300), true],
    ['older than 300 s', -seconds(300) - 1n, false],
    ['300 s ahead', seconds(300), true],
    ['further ahead', seconds(300) + 1n, false],
  ])('an envelope %s', async (_, offset, isGood) => {
    const signer = await newAgent()
    accepted(await register(signer))
    clock.advance(300)
    const answer = await remove(signer, await envelope(signer, clock.now() + offset))
    if (isGood) accepted(answer)
    else refused(answer, 401, 'signed_at_outside_window')
  })

  it('an envelope signed before a refresh does not remove the agent; one of the same moment does', async () => {
    const signer = await newAgent()
    const old = await envelope(signer)
    clock.advance(1)
    accepted(await register(signer))
    refused(await remove(signer, old), 401, 'signed_at_outside_window')
    accepted(await na.request('GET', path(signer.publicKey)))
    accepted(await remove(signer, await envelope(signer)))
  })

  it('a replayed envelope does not remove a later registration', async () => {
    const signer = await newAgent()
    const body = await envelope(signer)
    accepted(await remove(signer, body))
    accepted(await register(signer, clock.now() + 1n))
    refused(await remove(signer, body), 401, 'signed_at_outside_window')
    accepted(await na.request('GET', path(signer.publicKey)))
  })

  it('an expired registration counts as not registered', async () => {
    const signer = await newAgent()
    clock.advance(600)
    refused(await remove(signer, await envelope(signer)), 404, 'agent_not_registered')
  })
})

interface Defect {
  readonly name: string
  readonly status: number
  readonly code: string
  readonly part: string
  apply(draft: { body: Record<string, JsonValue>; target: string; readonly signer: Signer }): Promise<void> | void
}

/** Checks 2 to 8 of protocol/core 13.4 in their order. */
const DEFECTS: readonly Defect[] = [
  {
    name: 'no signature',
    status: 401,
    code: 'delete_signature_required',
    part: 'signature',
    apply: ({ body }) => void delete body['signature'],
  },
  {
    name: 'a signature that is not a string',
    status: 401,
    code: 'delete_signature_required',
    part: 'signature',
    apply: ({ body }) => void (body['signature'] = 1),
  },
  {
    name: 'no signed_at',
    status: 401,
    code: 'delete_signature_required',
    part: 'time',
    apply: ({ body }) => void delete body['signed_at'],
  },
  {
    name: 'another version',
    status: 400,
    code: 'bad_request',
    part: 'version',
    apply: ({ body }) => void (body['version'] = 'v2'),
  },
  {
    name: 'an invalid time',
    status: 400,
    code: 'invalid_signed_at',
    part: 'time',
    apply: ({ body }) => void (body['signed_at'] = 'yesterday'),
  },
  {
    name: 'outside the window',
    status: 401,
    code: 'signed_at_outside_window',
    part: 'time',
    apply: async (draft) => {
      const { version, signature } = draft.body
      const fresh = await envelope(draft.signer, clock.now() - seconds(301))
      // A defect applied earlier stays.
      draft.body = { ...fresh, ...(version === 'v2' ? { version } : {}) }
      if (typeof signature !== 'string') delete draft.body['signature']
      else if (signature.startsWith('AAAA')) draft.body['signature'] = signature
    },
  },
  {
    name: 'another signature',
    status: 401,
    code: 'invalid_signature',
    part: 'signature',
    apply: ({ body }) => void (body['signature'] = Buffer.alloc(64).toString('base64')),
  },
  {
    name: 'an invalid key in the path',
    status: 401,
    code: 'invalid_signature',
    part: 'key',
    apply: (draft) => void (draft.target = '/agents/nobody'),
  },
  {
    name: 'not registered',
    status: 404,
    code: 'agent_not_registered',
    part: 'registration',
    apply: async ({ signer }) => {
      accepted(await remove(signer, await envelope(signer)))
    },
  },
  {
    name: 'older than the registration',
    status: 401,
    code: 'signed_at_outside_window',
    part: 'registration',
    apply: async (draft) => {
      accepted(await register(draft.signer, clock.now() + 1n))
    },
  },
]

async function sendWith(defects: readonly Defect[]): Promise<TestResponse> {
  const signer = await newAgent()
  const draft = { body: await envelope(signer), target: path(signer.publicKey), signer }
  for (const defect of defects.toReversed()) await defect.apply(draft)
  return na.request('DELETE', draft.target, { body: draft.body })
}

describe('DELETE /agents/{node_public_key}, order of checks', () => {
  it.each(DEFECTS)('$name: $status $code', async (defect) => {
    refused(await sendWith([defect]), defect.status, defect.code)
  })

  const pairs = DEFECTS.flatMap((first, index) =>
    DEFECTS.slice(index + 1)
      .filter((second) => second.part !== first.part)
      .map((second) => ({ first, second })),
  )
  it.each(pairs)('$first.name before $second.name', async ({ first, second }) => {
    refused(await sendWith([first, second]), first.status, first.code)
  })

  it('a refused envelope changes nothing', async () => {
    const signer = await newAgent()
    const answer = await remove(signer, { ...(await envelope(signer)), signature: Buffer.alloc(64).toString('base64') })
    refused(answer, 401, 'invalid_signature')
    expect(await eventsOf(na, answer)).toEqual([])
    accepted(await na.request('GET', path(signer.publicKey)))
  })
})

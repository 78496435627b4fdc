import { CHANGE_TOPICS, type ChangeTopic, STREAM_LIMITS } from '@chancery/contract'
import { type JsonObject, draftAgentDescriptor, signList, writeInstant } from '@chancery/protocol'
import {
  accepted,
  createInvite,
  enroll,
  foreignSovereign,
  newNodeCaller,
  nodeCaller,
  refused,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestStore } from '../evidence/evidence.suite.ts'
import { type EventCaller, openEvents } from './events.suite.ts'

let store: Awaited<ReturnType<typeof openTestStore>>
let na: TestAuthority
beforeAll(async () => {
  const operators = { privileged: 'privileged', standard: 'standard', leaving: 'standard' } as const
  store = await openTestStore({ operators })
  na = store.na
})
afterAll(() => store.stop())

const readChanges = async (since?: string): Promise<JsonObject> =>
  accepted(await na.as('standard')('GET', `/admin/changes${since === undefined ? '' : `?since=${since}`}`))
const join = async (): Promise<string> => {
  const node = await newNodeCaller(na.url, 'changes', na.core.clock)
  await enroll(na, node)
  return node.key
}
const post = async (path: string, body: JsonObject, status = 200): Promise<JsonObject> =>
  accepted(await na.as('privileged')('POST', path, body), status)

async function registerAgent(): Promise<void> {
  // A descriptor names its key by the public key.
  const { publicKey } = await testSigner('node', 'changes agent')
  const signer = await testSigner(publicKey, 'changes agent')
  await enroll(
    na,
    nodeCaller(na.url, signer, () => na.core.clock.now()),
  )
  const draft = draftAgentDescriptor({
    agent_id: 'captain-1',
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities: ['pay.invoice'],
    endpoint: { host: '198.51.100.7', port: 7448 },
    registered_at: writeInstant(na.core.clock.now()),
    expires_at: writeInstant(na.core.clock.now() + 600_000_000n),
  })
  accepted(await na.request('POST', '/agents', { body: await signList(draft, signer) }))
}

const POLICY = {
  policy_id: 'spending',
  valid_from: '2025-01-01T00:00:00Z',
  valid_until: '2030-01-01T00:00:00Z',
  selector: { capabilities: ['pay.invoice'] },
  gates: [
    { gate_id: 'amount', gate_type: 'max_value.v1', order: 0, config: { path: 'request_parameters.amount', max: 5 } },
  ],
}
const TREATY = {
  subject_sovereign_id: 'PARTNER-NET',
  subject_public_keys: [foreignSovereign('PARTNER-NET').publicKey],
}

describe('GET /admin/changes', () => {
  it('200: gives a version of each topic, and nothing changed since the joint version', async () => {
    const first = await readChanges()
    expect(Object.keys(first['versions'] as JsonObject)).toEqual([...CHANGE_TOPICS])
    expect(first['changed']).toEqual([])
    expect(await readChanges(String(first['version']))).toEqual(first)
  })

  it.each<[string, readonly ChangeTopic[], () => Promise<unknown>]>([
    ['an invite', ['invites', 'audit'], () => createInvite(na)],
    ['a join', ['nodes', 'invites', 'audit'], join],
    [
      'a label',
      ['nodes', 'invites', 'audit'],
      async () => post('/admin/nodes/label', { node_public_key: await join(), label: 'Berlin' }),
    ],
    ['an agent', ['nodes', 'invites', 'agents', 'audit'], registerAgent],
    [
      'a member',
      ['members', 'audit'],
      () => post('/admin/attestations', { subject_id: 'v', roles: ['role:client'] }, 201),
    ],
    ['a treaty', ['partners', 'treaties', 'audit'], () => post('/admin/recognition-treaties', TREATY, 201)],
    ['a policy', ['policies', 'audit'], () => post('/admin/boundary-policies', POLICY, 201)],
    ['a decision', ['evidence', 'audit'], () => store.decide()],
    ['an operator key', ['audit', 'keys'], () => post('/admin/operator-keys/op-leaving/revoke', { reason: 'left' })],
    [
      'a refused request',
      ['audit'],
      async () => refused(await na.request('GET', '/admin/changes'), 401, 'admin_auth_failed'),
    ],
  ])('names the topics of %s', async (_name, topics, change) => {
    const { version } = await readChanges()
    store.clock.advance(1)
    await change()
    const { changed } = await readChanges(String(version))
    expect(changed).toEqual(topics)
  })

  it('names all topics for a joint version of another form, and refuses other parameters', async () => {
    expect((await readChanges('of-another-release'))['changed']).toEqual([...CHANGE_TOPICS])
    refused(await na.as('standard')('GET', '/admin/changes?topic=nodes'), 400, 'unexpected_field')
  })
})

/** All topics that changed so far. */
const topicsOf = (caller: EventCaller): readonly string[] => [
  ...new Set(caller.events().flatMap(({ changed }) => changed as readonly string[])),
]

describe('the event stream', () => {
  it('sends the state at once and each change within 2 seconds, and continues after a joint version', async () => {
    const caller = await openEvents(na)
    await expect.poll(() => caller.events()[0]).toMatchObject({ changed: [] })
    await join()
    await expect.poll(() => topicsOf(caller), { timeout: 2000 }).toContain('nodes')
    caller.close()
    const { version } = await readChanges()
    expect(caller.text()).toMatch(/^id: [\w.-]+\nevent: changes\ndata: /)
    await post('/admin/attestations', { subject_id: 'missed', roles: ['role:client'] }, 201)
    const next = await openEvents(na, 'standard', String(version))
    await expect.poll(() => topicsOf(next)).toEqual(['members', 'audit'])
    next.close()
  })

  it('sends comments while nothing changes, and ends after its life', async () => {
    const caller = await openEvents(na)
    await expect.poll(() => caller.events().length).toBeGreaterThan(0)
    // Jobs of the authority store audit events at times, which are events of the stream.
    const textLater = (): string => {
      store.clock.advance(STREAM_LIMITS.heartbeatSeconds)
      return caller.text()
    }
    await expect.poll(textLater, { timeout: 10_000, interval: 1100 }).toMatch(/^:$/m)
    store.clock.advance(STREAM_LIMITS.lifeSeconds)
    await expect.poll(() => caller.isEnded(), { timeout: 3000 }).toBe(true)
  })

  it('refuses a caller without a signature', async () => {
    const headers = { Accept: 'text/event-stream' }
    refused(await na.request('GET', '/admin/changes', { headers }), 401, 'admin_auth_failed')
  })
})

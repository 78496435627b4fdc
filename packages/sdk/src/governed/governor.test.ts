import type { Attestation } from '@chancery/protocol'
import { ManualClock, type TestAuthority, createInvite, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { governTools } from '../frameworks/ai-sdk.ts'
import { governed } from '../frameworks/langchain.ts'
import { type AuthorityClient, createAuthorityClient } from '../authority/client.ts'
import { UsageError } from '../errors.ts'
import { DeniedError, NoDecisionError } from '../node/answer.ts'
import { type NetworkNode, joinNetwork } from '../node/join-network.ts'
import { MemoryNodeStore } from '../node/followed.ts'
import { type Governor, createGovernor } from './governor.ts'
import { MemoryOutbox } from './outbox.ts'

const clock = new ManualClock('2030-01-02T03:00:00Z')
let na: TestAuthority
let operator: AuthorityClient
let node: NetworkNode
let attestation: Attestation
let govern: Governor
/** What happens to a request for a decision. */
let deciding: 'arrive' | 'lose the first answer' | 'fail' | 'limit'
const paths: string[] = []
const decided: string[] = []

async function toAuthority(url: string, init: RequestInit): Promise<Response> {
  const { pathname } = new URL(url)
  paths.push(pathname)
  if (pathname !== '/boundary/request' || deciding === 'arrive') return fetch(url, init)
  if (deciding === 'fail') throw new TypeError('fetch failed')
  const refusal = { error: { code: 'rate_limit_exceeded', message: 'Too many.', details: {} } }
  if (deciding === 'limit') return Response.json(refusal, { status: 429, headers: { 'Retry-After': '7' } })
  const text = await (await fetch(url, init)).text()
  decided.push(/"decision_id":"([^"]+)"/.exec(text)?.[1] ?? text)
  if (decided.length === 1) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  return new Response(text, { status: 201 })
}

beforeAll(async () => {
  const settings = { EVIDENCE_STORE: 'on', NA_NODE_DECISIONS: 'own' }
  na = await startTestAuthority({ clock, backend: 'sqlite', settings })
  const audience = na.genesis.network_authority.public_key
  const signer = await testSigner('op-privileged')
  operator = createAuthorityClient({ url: na.url, operator: { signer, audience }, clock: () => clock.now() })
  const executor = await testSigner('rotator-1')
  await operator.evidence.registerKey({
    key_id: executor.keyId,
    public_key: executor.publicKey,
    executor_sovereign_id: 'rotator',
  })
  const authority = { url: na.url, genesis: na.genesis, clock: () => clock.now(), fetch: toAuthority as typeof fetch }
  deciding = 'arrive'
  node = await joinNetwork({
    ...authority,
    store: new MemoryNodeStore(),
    invite: () => createInvite(na),
    retry: { attempts: 2 },
  })
  attestation = await operator.attestations.issue({
    subject_id: 'vendor-1',
    subject_public_key: node.publicKey,
    roles: ['role:client'],
    claims: { capabilities: ['secret.rotate'] },
  })
  govern = await createGovernor({
    decisions: { ask: (capability, options = {}) => node.ask(capability, { attestation, ...options } as never) },
    authority,
    outbox: new MemoryOutbox(),
    executor: { id: 'rotator', signer: executor },
  })
})
beforeEach(() => {
  deciding = 'arrive'
  decided.length = 0
})
afterAll(async () => {
  await govern.close()
  await node.stop()
  await na.stop()
})

async function newest(): Promise<Record<string, unknown>> {
  const { entries } = await operator.evidence.search({ entry_kind: 'execution' })
  return entries.at(-1)?.payload as unknown as Record<string, unknown>
}

describe('a governed function', () => {
  it('decides, acts and continues the chain of a resource without an operator', async () => {
    const rotate = govern('secret.rotate', ({ by }: { by: string; secret: string }) => ({ done: by }), {
      parameters: ({ by }) => ({ by }),
      resource: () => ({ id: 'kv/api-key', action: 'rotate' }),
    })
    const input = { by: 'me', secret: 'sk-private' }
    expect(await rotate(input)).toEqual({ done: 'me' })
    const again = await rotate.try(input)
    expect(again).toMatchObject({ allowed: true, stored: true, evidence: { resource_sequence: 2 } })
    expect(paths.filter((path) => path.startsWith('/admin'))).toEqual([])
    const parameters = { by: 'me', input_digest: expect.stringMatching(/^[0-9a-f]{64}$/) }
    expect(await newest()).toMatchObject({ outcome: 'success', execution_parameters: parameters })
    expect(JSON.stringify(await newest())).not.toContain('private')
    expect(govern.pending).toEqual({ waiting: 0, deadLetters: 0 })
  })

  it('states that there was no input, and what the action reports', async () => {
    const rotate = govern('secret.rotate', (_input: undefined, { answer, report }) => {
      report('partial', 'first half')
      return answer.decision.decision_id
    })
    const id = await rotate()
    const expected = { decision_id: id, outcome: 'partial', outcome_detail: 'first half' }
    expect(await newest()).toMatchObject({ ...expected, execution_parameters: { input_digest: null } })
  })

  it('throws DeniedError for a denial, or returns it, and does nothing', async () => {
    let runs = 0
    const open = govern('vault.open', () => (runs += 1))
    const error = await open().catch((found: unknown) => found)
    expect(error).toBeInstanceOf(DeniedError)
    expect((error as DeniedError).answer.explanation).toContain('the capability vault.open')
    expect(await open.try()).toMatchObject({ allowed: false, answer: { reason: 'capability_out_of_scope' } })
    expect(runs).toBe(0)
  })

  it('records an action that throws as a failure, and throws its error', async () => {
    const failing = govern('secret.rotate', () => Promise.reject(new RangeError('the vault is full')))
    await expect(failing()).rejects.toThrow('the vault is full')
    expect(await newest()).toMatchObject({ outcome: 'failure', outcome_detail: 'RangeError' })
  })

  it('throws NoDecisionError when the authority cannot be asked, with the time that a limit names', async () => {
    const rotate = govern('secret.rotate', () => 1)
    deciding = 'fail'
    await expect(rotate()).rejects.toThrow(NoDecisionError)
    deciding = 'limit'
    await expect(rotate()).rejects.toMatchObject({ kind: 'no_decision', retryAfterSeconds: 7 })
  })

  it('gets the same decision after a lost response', async () => {
    deciding = 'lose the first answer'
    const result = await govern('secret.rotate', () => 1).try()
    expect(result.allowed && decided).toEqual(Array(2).fill(result.answer.decision.decision_id))
  })

  it('refuses secrets, lost values, a reserved name and an input that changes, before it acts', async () => {
    let runs = 0
    const act = (): number => (runs += 1)
    const secret = govern('secret.rotate', act, { parameters: () => ({ password: 'hunter2hunter2' }) })
    await expect(secret()).rejects.toMatchObject({ kind: 'usage', reason: 'metadata_refused' })
    const lost = govern('secret.rotate', (_input: object) => act())
    await expect(lost(new Map([[1, 2]]))).rejects.toThrow(UsageError)
    const reserved = govern('secret.rotate', act, { parameters: () => ({ input_digest: 'x' }) })
    await expect(reserved()).rejects.toThrow('choose another name')
    const input = { amount: 1 }
    const changing = govern('secret.rotate', (_input: { amount: number }) => act(), {
      parameters: (given) => {
        queueMicrotask(() => (given.amount = 2))
        return {}
      },
    })
    await expect(changing(input)).rejects.toThrow('the input changed after the decision')
    expect(runs).toBe(0)
  })
})

describe('adapters', () => {
  it('of the AI SDK give a model the denial, and leave a tool without execute as it is', async () => {
    const client = { description: 'runs at the client' }
    const tools = governTools(
      govern,
      {
        rotate: { execute: async (input: { n: number }, _o: object) => input.n + 1 },
        open: { execute: () => 1 },
        client,
      },
      { capability: (name) => (name === 'rotate' ? 'secret.rotate' : 'vault.open') },
    )
    expect(await tools.rotate.execute({ n: 1 }, {})).toBe(2)
    expect(await tools.open.execute({}, {})).toMatchObject({ denied: true, missing: [] })
    expect(tools.client).toBe(client)
  })

  it('of LangChain return a denial as text', async () => {
    const rotate = governed(govern, 'secret.rotate', (input: { n: number }, _config: object) => ({ n: input.n }))
    expect(await rotate({ n: 3 }, {})).toEqual({ n: 3 })
    const open = governed(govern, 'vault.open', (input: { n: number }, _config: object) => ({ n: input.n }))
    expect(await open({ n: 3 }, {})).toMatch(/^Denied: capability out of scope/)
  })
})

it('requires the expected policies', async () => {
  const strict = await createGovernor({
    decisions: { ask: (capability, options = {}) => node.ask(capability, { attestation, ...options } as never) },
    authority: { url: na.url, genesis: na.genesis, clock: () => clock.now() },
    outbox: new MemoryOutbox(),
    executor: { id: 'rotator', signer: await testSigner('rotator-1') },
    expectedPolicies: [{ policy_id: 'p', version: 1 }],
  })
  await expect(strict('secret.rotate', () => 1)()).rejects.toMatchObject({ reason: 'policy_binding_mismatch' })
  await strict.close()
})

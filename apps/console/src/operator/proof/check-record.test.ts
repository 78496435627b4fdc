import {
  BOUNDARY_POLICY_FORM,
  boundaryPolicyDigest,
  draftBoundaryPolicy,
  draftGenesisBlock,
  draftJoinCertificate,
  instantOf,
  seedSigner,
  signForm,
  signList,
  toBase64,
} from '@chancery/protocol'
import type { JsonObject, Signer } from '@chancery/protocol'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { toPin } from '../pin.ts'
import { checkCertificate, checkPolicyVersions } from './check-record.ts'

const signer = (byte: number): Promise<Signer> => seedSigner(`key-${byte}`, toBase64(new Uint8Array(32).fill(byte)))
const [root, current, former, node] = await Promise.all([1, 2, 3, 4].map(signer))
const keyOf = (of: Signer | undefined): string => of?.publicKey ?? ''
const GENESIS = draftGenesisBlock({
  network_name: 'NET',
  root_public_key: keyOf(root),
  network_authority: {
    public_key: keyOf(current),
    valid_from: '2026-03-01T00:00:00Z',
    valid_to: '2027-01-01T00:00:00Z',
  },
})

async function certificate(by: Signer | undefined, at: string): Promise<ReturnType<typeof draftJoinCertificate>> {
  if (by === undefined) throw new Error('There is no such key.')
  const draft = draftJoinCertificate({
    cert_id: 'cert-1',
    node_public_key: keyOf(node),
    network_name: 'NET',
    roles: ['a b', 'c'],
    issued_by: by.keyId,
    now: instantOf(at),
    validityHours: 24,
  })
  return signList(draft, by)
}

const refusal = (status: number, code: string): Response =>
  Response.json({ error: { code, message: 'Refused.' } }, { status })
let history: () => Response
beforeEach(() => {
  history = () => refusal(404, 'key_history_not_found')
  vi.stubGlobal('localStorage', { getItem: () => JSON.stringify(toPin(GENESIS)) })
  vi.stubGlobal('fetch', (path: string) =>
    Promise.resolve(path === '/genesis' ? Response.json(GENESIS) : path === '/key-history' ? history() : undefined),
  )
})
afterEach(() => {
  vi.unstubAllGlobals()
})

it('verifies a certificate only when the page shows its roles and times', async () => {
  const record = await certificate(current, '2026-03-02T00:00:00Z')
  const value = record as unknown as JsonObject
  expect(await checkCertificate(value, record)).toBe('')
  expect(await checkCertificate(value, { ...record, roles: ['c', 'a b'] })).toBe('')
  for (const other of [{ roles: ['a', 'b', 'c'] }, { roles: ['a', 'b c'] }, { issued_at: '2026-03-01T00:00:00Z' }])
    expect(await checkCertificate(value, { ...record, ...other })).toContain('other values than this page')
})

it('does not check an older record when the key history cannot be read, nor a certificate without a text', async () => {
  const older = await certificate(former, '2026-02-01T00:00:00Z')
  const wrong = await certificate(former, '2026-03-02T00:00:00Z')
  expect(await checkCertificate(older as unknown as JsonObject, older)).toContain('invalid_signature')
  history = () => refusal(429, 'rate_limited')
  expect(await checkCertificate(older as unknown as JsonObject, older)).toBeInstanceOf(Error)
  expect(await checkCertificate(wrong as unknown as JsonObject, wrong)).toContain('invalid_signature')
  expect(await checkCertificate({}, older)).toBeInstanceOf(Error)
})

it('verifies a policy only when the page shows its description and end', async () => {
  if (current === undefined) throw new Error('There is no such key.')
  const selector = { agreement_ids: [], capabilities: [], parameter_equals: {}, parent_kinds: [] }
  const gate = { gate_id: 'amount', gate_type: 'max_value.v1', order: 0, mode: 'enforce', disclose_input: false }
  const draft = draftBoundaryPolicy(
    {
      policy_id: 'spending',
      description: 'Payments',
      valid_from: '2026-03-01T00:00:00Z',
      valid_until: '2026-04-01T00:00:00Z',
      selector: { ...selector, provider_sovereign_ids: [], requester_sovereign_ids: [] },
      gates: [{ ...gate, mode: 'enforce', config: { path: 'request_parameters.amount', max: 10 } }],
    },
    { version: 1, issued_by: 'na', issuer_sovereign_id: 'NET', now: instantOf('2026-03-02T00:00:00Z') },
  )
  const policy = await signForm(BOUNDARY_POLICY_FORM, draft, current, 'na')
  const row = {
    version: 1,
    policy_digest: boundaryPolicyDigest(policy),
    description: 'Payments',
    valid_until: '2026-04-01T00:00:00.000Z',
    policy,
  }
  const check = async (other: object): Promise<unknown> =>
    (await checkPolicyVersions('spending', JSON.stringify({ versions: [{ ...row, ...other }] }))).get(1)
  expect(await check({})).toBe('')
  for (const other of [{ description: 'Gifts' }, { valid_until: '2027-04-01T00:00:00Z' }, { valid_until: null }])
    expect(await check(other)).toContain('another description or end')
})

it('names a version that is listed twice', async () => {
  const text = JSON.stringify({ versions: [{ version: 2 }, { version: 1 }, { version: 2 }] })
  expect([...(await checkPolicyVersions('spending', text))]).toEqual([
    [2, 'The version is listed more than once.'],
    [1, 'The stored policy cannot be read.'],
  ])
})

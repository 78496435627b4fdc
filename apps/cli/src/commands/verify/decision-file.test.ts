import { readFile, writeFile } from 'node:fs/promises'
import { isJsonObject, readJson, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { checkDecisionFile, readDecisionFile } from '@chancery/sdk'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openNetwork } from '../../testing/real-authority.suite.ts'
import type { RealNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
/** The file of a decision with a policy and an attestation, which is in the log and anchored. */
let file: JsonObject

beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' })
  const post = network.na.as('privileged')
  const member = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await post('POST', '/admin/attestations', member), 201)
  await publishPolicy()
  const evaluate = async (): Promise<string> =>
    (await network.asOperator(`evaluate secret.rotate --attestation ${String(attestation_id)} --quiet`)).stdout.trim()
  await evaluate()
  const decision = await evaluate()
  await evaluate()
  accepted(await post('POST', '/admin/evidence/anchors', {}), 201)
  await vi.waitFor(async () => {
    const { text } = await network.na.request('GET', '/evidence-log/checkpoint')
    if (text.split('\n')[1] !== '6') throw new Error('the log does not cover all entries yet')
  }, 10_000)
  const { code, stderr } = await network.asOperator(`evidence show ${decision} --out decision.json`)
  if (code !== 0) throw new Error(stderr)
  const value = readJson(await readFile(network.setup.path('decision.json'), 'utf8'))
  if (!isJsonObject(value)) throw new Error('the file is not an object')
  file = value
})
afterAll(() => network.close())

async function publishPolicy(): Promise<void> {
  const post = network.na.as('privileged')
  const intent = {
    policy_id: 'spending',
    description: 'at most 1000',
    valid_from: '2030-01-01T00:00:00Z',
    valid_until: '2030-12-31T00:00:00Z',
    gates: [
      {
        gate_id: 'limit',
        gate_type: 'max_value.v1',
        order: 0,
        mode: 'observe',
        config: { path: 'request_parameters.n', max: 9 },
      },
    ],
  }
  const { version } = accepted(await post('POST', '/admin/boundary-policies', intent), 201)
  accepted(await post('POST', '/admin/boundary-policies/spending/activate', { version: version ?? null }))
}

async function verify(changed: JsonValue, flags = '--genesis genesis.json'): Promise<[number, JsonObject]> {
  await writeFile(network.setup.path('changed.json'), writeJson(changed))
  const { code, json } = await network.run(`verify changed.json ${flags} --json`)
  return [code, json()]
}

/** `name status` of the checks that did not pass. */
const notPassed = (report: JsonObject): readonly string[] =>
  ((report['checks'] ?? []) as readonly { name: string; status: string }[])
    .filter(({ status }) => status !== 'passed')
    .map(({ name, status }) => `${name} ${status}`)

describe('verify reads a decision file', () => {
  it('passes every check of an unchanged file', async () => {
    const [code, report] = await verify(file)
    expect([code, notPassed(report)]).toEqual([0, []])
    expect(report).toMatchObject({ valid: true, kind: 'decision-file', result: 'authorized' })
  })

  it('says that the root key is not proven without a trusted genesis block', async () => {
    const [code, report] = await verify(file, '')
    expect([code, notPassed(report)]).toEqual([0, ['root_key unchecked']])
  })

  it('passes without the parts that may be missing, and says which', async () => {
    const [code, report] = await verify({ ...file, anchor: null, log: null, policies: [], attestation: null })
    expect([code, notPassed(report)]).toEqual([
      0,
      ['policies unchecked', 'basis unchecked', 'inclusion unchecked', 'anchor unchecked'],
    ])
  })

  it('refuses the genesis block of another network', async () => {
    const other = await openNetwork({}, 'OTHER-NET')
    try {
      await writeFile(network.setup.path('other.json'), writeJson(other.genesis))
      const [code, report] = await verify(file, '--genesis other.json')
      expect([code, notPassed(report)]).toEqual([1, ['root_key failed']])
    } finally {
      await other.close()
    }
  })
})

/** The text with another character at a place: a letter or digit stays one, so that the form stays readable. */
function flip(text: string, at: number): string {
  const flipped = text[at] === 'a' ? 'b' : 'a'
  return `${text.slice(0, at)}${flipped}${text.slice(at + 1)}`
}

/** Changes one character of a member, named by its path. */
function flipMember(value: JsonValue, path: readonly (string | number)[], at = 3): JsonValue {
  const [name, ...rest] = path
  if (name === undefined) {
    if (typeof value !== 'string') throw new Error('only texts are flipped')
    return flip(value, at)
  }
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).map((each, index) => (index === name ? flipMember(each, rest, at) : each))
  if (!isJsonObject(value)) throw new Error(`no member ${name}`)
  return { ...value, [name]: flipMember(value[name] ?? null, rest, at) }
}

describe('one flipped byte is found, and its part is named', () => {
  it.each<[string, readonly (string | number)[], readonly string[]]>([
    ['signature of the genesis block', ['genesis', 'signatures', 0, 'sig'], ['genesis failed']],
    ['signature of a policy', ['policies', 0, 'signature', 'sig'], ['policies failed']],
    ['text of a policy', ['policies', 0, 'description'], ['policies failed']],
    ['key name of a policy', ['policies', 0, 'signature', 'key_id'], ['policies failed']],
    ['signature of the attestation', ['attestation', 'signatures', 0, 'sig'], ['basis failed']],
    ['subject of the attestation', ['attestation', 'subject_id'], ['basis failed']],
    ['signature of the anchor', ['anchor', 'signature', 'sig'], ['anchor failed']],
    ['digest of the anchor', ['anchor', 'entry_digest'], ['anchor failed']],
    ['issuer of the anchor', ['anchor', 'issued_by'], ['anchor failed']],
    ['proof of the log', ['log', 'hashes', 0], ['inclusion failed']],
    ['proof of the anchored entry', ['log', 'anchor_hashes', 0], ['anchor failed']],
    ['checkpoint', ['log', 'checkpoint'], ['inclusion failed', 'anchor unchecked']],
  ])('%s', async (_name, path, expected) => {
    const [code, report] = await verify(flipMember(file, path))
    expect([code, notPassed(report)]).toEqual([1, expected])
  })

  it('every 97th byte of the decision and of the justification', async () => {
    const lines = file['entries'] as readonly string[]
    expect(lines).toHaveLength(2)
    for (const [index, line] of lines.entries())
      for (let at = 0; at < line.length; at += 97) {
        const changed = readDecisionFile(flipMember(file, ['entries', index], at))
        const { valid } = await checkDecisionFile(changed, { genesis: network.genesis })
        expect(valid, `entry ${index}, byte ${at}: ${line.slice(Math.max(at - 9, 0), at + 9)}`).toBe(false)
      }
  })

  it('the number of the leaf', async () => {
    const log = { ...(file['log'] as JsonObject), leaf_index: 3 }
    expect(notPassed((await verify({ ...file, log }))[1])).toEqual(['inclusion failed'])
  })

  it('an entry that is left out, doubled or of another decision', async () => {
    const [decision = '', justification = ''] = file['entries'] as readonly string[]
    expect(notPassed((await verify({ ...file, entries: [decision] }))[1])).toEqual(['justification unchecked'])
    for (const entries of [[justification], [decision, decision], []])
      expect((await verify({ ...file, entries }))[0]).toBe(1)
  })

  it.each<[string, JsonObject]>([
    ['another version', { version: 2 }],
    ['an unknown member', { more: 1 }],
    ['entries that are no texts', { entries: [1] }],
    ['a genesis block that is none', { genesis: {} }],
  ])('%s', async (_name, change) => {
    await writeFile(network.setup.path('changed.json'), writeJson({ ...file, ...change }))
    const { code, stderr } = await network.run('verify changed.json --genesis genesis.json')
    expect([code, stderr]).toEqual([1, expect.stringContaining('This is not a decision file')])
  })
})

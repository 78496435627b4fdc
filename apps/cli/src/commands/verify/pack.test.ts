import { readFile, writeFile } from 'node:fs/promises'
import { cosignNote, isJsonObject, readJson, readNote, writeJson, writeNote, writeWitnessKey } from '@chancery/protocol'
import type { BoundaryDecision, JsonObject, JsonValue } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import { verifyPack, readPack, writePack } from '@chancery/sdk/evidence'
import { sealPack } from '@chancery/sdk/internal'
import { accepted, signExecution, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
/** The pack of a decision with a policy, an attestation and an execution, which is in the log and anchored. */
let file: JsonObject
let text: string

beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' })
  const post = network.na.as('privileged')
  const member = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await post('POST', '/admin/attestations', member), 201)
  await publishPolicy()
  const evaluate = async (): Promise<JsonObject> => {
    const asked = { attestation_id: attestation_id ?? null, requested_capability: 'secret.rotate' }
    return accepted(await post('POST', '/admin/boundary/evaluate', asked), 201)['decision'] as JsonObject
  }
  const rotator = await testSigner('rotator-key')
  const key = { key_id: rotator.keyId, public_key: rotator.publicKey, executor_sovereign_id: 'rotator' }
  accepted(await post('POST', '/admin/evidence/executor-keys', key), 201)
  await evaluate()
  const decision = (await evaluate()) as unknown as BoundaryDecision
  const evidence = await signExecution(decision, rotator)
  accepted(await network.na.request('POST', '/evidence/execution', { body: { evidence } }), 201)
  await evaluate()
  accepted(await post('POST', '/admin/evidence/anchors', {}), 201)
  await network.na.features.evidenceLog.append()
  const { code, stderr } = await network.asOperator(`evidence pack ${decision.decision_id} --out pack.json`)
  if (code !== 0) throw new Error(stderr)
  text = await readFile(network.setup.path('pack.json'), 'utf8')
  const value = readJson(text)
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

/** Verifies a changed pack whose writer computed counts and digest again. */
async function verify(changed: JsonValue, flags = '--genesis genesis.json'): Promise<[number, JsonObject]> {
  return verifyText(writePack(sealPack(changed as unknown as EvidencePack)), flags)
}

async function verifyText(changed: string, flags = '--genesis genesis.json'): Promise<[number, JsonObject]> {
  await writeFile(network.setup.path('changed.json'), changed)
  const { code, json } = await network.run(`verify changed.json ${flags} --json`)
  return [code, json()]
}

/** `name status` of the checks that did not pass. */
const notPassed = (report: JsonObject): readonly string[] =>
  ((report['checks'] ?? []) as readonly { name: string; status: string }[])
    .filter(({ status }) => status !== 'passed')
    .map(({ name, status }) => `${name} ${status}`)

/** No witness cosigns the log of this network. */
const OPEN = 'witnesses unchecked'

describe('verify', () => {
  it('passes every check of an unchanged pack but that of witnesses', async () => {
    const [code, report] = await verifyText(text)
    expect([code, notPassed(report)]).toEqual([0, [OPEN]])
    expect(report).toMatchObject({ valid: true, kind: 'evidence-pack', result: 'authorized' })
  })

  it('is what verify does with a pack, and prints the decision in sentences', async () => {
    const { code, stdout } = await network.run('verify pack.json --genesis genesis.json')
    expect(code).toBe(0)
    for (const part of [
      'The authority of TEST-NET allowed secret.rotate for vendor-1.',
      'Policy spending version 1 applied.',
      'spending/limit did not pass, and only observes',
      'rotator executed secret.rotate at',
      'Not proven: that there were no other executions.',
    ])
      expect(stdout).toContain(part)
  })

  it('is not valid without a trusted genesis block, and says that the root key was not compared', async () => {
    const [code, report] = await verifyText(text, '')
    expect([code, report['valid'], notPassed(report)]).toEqual([2, false, ['root_key unchecked', OPEN]])
    for (const line of ['verify pack.json', 'verify pack.json']) {
      const { code: exit, stdout } = await network.run(line)
      expect([exit, stdout.split('\n')[0]]).toEqual([2, expect.stringContaining('the root key was not compared')])
      expect(stdout).toContain('It is not proven.')
    }
    expect((await network.run('verify --replay pack.json')).code).toBe(2)
    expect(report['not_proven']).toContainEqual(
      expect.stringContaining('Not proven: that this is the network you mean.'),
    )
  })

  it('compares pinned executor keys with those of the pack', async () => {
    const { executor_keys } = file
    await writeFile(network.setup.path('keys.json'), writeJson({ executor_keys: executor_keys ?? [] }))
    const [code, report] = await verifyText(text, '--genesis genesis.json --executor-keys keys.json')
    expect([code, notPassed(report)]).toEqual([0, [OPEN]])
    expect(JSON.stringify(report['not_proven'])).not.toContain('executor keys')
    await writeFile(network.setup.path('keys.json'), writeJson({ executor_keys: [] }))
    expect(notPassed((await verifyText(text, '--executor-keys keys.json'))[1])).toContain('executions failed')
  })

  it('passes without the parts that may be missing, and says which', async () => {
    const [code, report] = await verify({ ...file, anchor: null, log: null, policies: [], attestation: null })
    expect([code, notPassed(report)]).toEqual([
      0,
      [
        'executions unchecked',
        'policies unchecked',
        'basis unchecked',
        'inclusion unchecked',
        OPEN,
        'anchor unchecked',
      ],
    ])
  })

  it('refuses the genesis block of another network', async () => {
    const other = await openNetwork({}, 'OTHER-NET')
    try {
      await writeFile(network.setup.path('other.json'), writeJson(other.genesis))
      const [code, report] = await verifyText(text, '--genesis other.json')
      expect([code, notPassed(report)]).toEqual([1, ['root_key failed', OPEN]])
    } finally {
      await other.close()
    }
  })

  it('verifies a checkpoint that a witness cosigned, and refuses a cosignature of an unknown key', async () => {
    const witness = await testSigner('witness.example')
    const log = file['log'] as JsonObject
    const note = readNote(String(log['checkpoint']))
    if (note === undefined) throw new Error('the checkpoint is no note')
    const checkpoint = writeNote(await cosignNote(note, witness, 1_900_000_000))
    const vkey = writeWitnessKey({ name: 'witness.example', publicKey: witness.publicKey })
    const cosigned = { ...file, log: { ...log, checkpoint } }
    expect(notPassed((await verify({ ...cosigned, witnesses: [vkey] }))[1])).toEqual([])
    expect(notPassed((await verify(cosigned))[1])).toEqual(['witnesses failed'])
    expect(notPassed((await verify({ ...file, witnesses: [vkey] }))[1])).toEqual(['witnesses failed'])
    const other = writeWitnessKey({ name: 'other.example', publicKey: witness.publicKey })
    const [, pinned] = await verify({ ...cosigned, witnesses: [vkey] }, `--witness ${other}`)
    expect(notPassed(pinned)).toContain('witnesses failed')
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

describe('a changed pack whose counts and digest were computed again', () => {
  it.each<[string, readonly (string | number)[], readonly string[]]>([
    ['signature of the genesis block', ['genesis', 'signatures', 0, 'sig'], ['genesis failed']],
    ['signature of a policy', ['policies', 0, 'signature', 'sig'], ['policies failed']],
    ['text of a policy', ['policies', 0, 'description'], ['policies failed']],
    ['key name of a policy', ['policies', 0, 'signature', 'key_id'], ['policies failed']],
    ['signature of the attestation', ['attestation', 'signatures', 0, 'sig'], ['basis_signature failed']],
    ['key name of the attestation', ['attestation', 'signatures', 0, 'key_id'], ['basis_signature failed']],
    ['subject of the attestation', ['attestation', 'subject_id'], ['basis failed', 'basis_signature failed']],
    ['owner of an executor key', ['executor_keys', 0, 'executor_sovereign_id'], ['executions failed']],
    ['signature of the anchor', ['anchor', 'signature', 'sig'], ['anchor failed']],
    ['digest of the anchor', ['anchor', 'entry_digest'], ['anchor failed']],
    ['issuer of the anchor', ['anchor', 'issued_by'], ['anchor failed']],
    ['proof of the decision', ['log', 'proofs', 0, 'hashes', 0], ['inclusion failed']],
    ['proof of the execution', ['log', 'proofs', 2, 'hashes', 0], ['executions unchecked', 'inclusion failed']],
    ['proof of the anchored entry', ['log', 'anchor_hashes', 0], ['anchor failed']],
    [
      'checkpoint',
      ['log', 'checkpoint'],
      ['executions unchecked', 'inclusion failed', 'witnesses failed', 'anchor unchecked'],
    ],
  ])('fails the check of the changed part: %s', async (_name, path, expected) => {
    const [code, report] = await verify(flipMember(file, path))
    expect([code, notPassed(report).filter((each) => each !== OPEN)]).toEqual([1, expected])
  })

  it('fails when every 97th byte of an entry is changed', async () => {
    const lines = file['entries'] as readonly string[]
    expect(lines).toHaveLength(3)
    for (const [index, line] of lines.entries())
      for (let at = 0; at < line.length; at += 97) {
        const changed = sealPack(flipMember(file, ['entries', index], at) as unknown as EvidencePack)
        const { valid } = await verifyPack(readPack(writePack(changed)), {
          genesis: network.genesis,
        })
        expect(valid, `entry ${index}, byte ${at}: ${line.slice(Math.max(at - 9, 0), at + 9)}`).toBe(false)
      }
  })

  it('names an entry that is left out, doubled or of another decision', async () => {
    const [decision = '', justification = '', execution = ''] = file['entries'] as readonly string[]
    const proofs = (file['log'] as JsonObject)['proofs'] as readonly JsonValue[]
    const rest = { ...file, log: { ...(file['log'] as JsonObject), proofs: [proofs[0] ?? null, proofs[2] ?? null] } }
    const [, report] = await verify({ ...rest, entries: [decision, execution] })
    expect(notPassed(report)).toEqual(['justification unchecked', OPEN])
    for (const entries of [[justification], [decision, decision], [decision, execution, execution], []])
      expect((await verify({ ...file, log: null, entries }))[0]).toBe(1)
    const id = String((await verifyText(text))[1]['decision_id'])
    const { stdout } = await network.asOperator('evidence list --quiet')
    const other = stdout.split('\n').find((each) => each !== id && each !== '') ?? ''
    await network.asOperator(`evidence pack ${other} --out ${other}.json`)
    const stranger = readJson(await readFile(network.setup.path(`${other}.json`), 'utf8')) as JsonObject
    const [, reason = ''] = stranger['entries'] as readonly string[]
    const [, mixed] = await verify({ ...file, log: null, entries: [decision, reason, execution] })
    expect(notPassed(mixed)).toContain('justification failed')
  })

  it.each<[string, (pack: JsonObject) => JsonObject, string]>([
    [
      'a policy that was not applied',
      (pack) => ({ policies: [...list(pack, 'policies'), ...list(pack, 'policies')] }),
      'policies failed',
    ],
    [
      'a text that no policy names',
      () => ({ policy_texts: ['permit (principal, action, resource);'] }),
      'policy_texts failed',
    ],
    [
      'an executor key twice',
      (pack) => ({ executor_keys: [...list(pack, 'executor_keys'), ...list(pack, 'executor_keys')] }),
      'executions failed',
    ],
    ['a treaty without use', (pack) => ({ treaty: pack['attestation'] ?? null }), 'treaty failed'],
    ['an agreement next to the attestation', (pack) => ({ agreement: pack['attestation'] ?? null }), 'basis failed'],
  ])('fails with %s', async (_name, change, expected) => {
    const [code, report] = await verify({ ...file, ...change(file) })
    expect([code, notPassed(report)]).toEqual([1, expect.arrayContaining([expected])])
  })
})

const list = (pack: JsonObject, name: string): readonly JsonValue[] => pack[name] as readonly JsonValue[]

describe('a changed pack', () => {
  it('fails when a record is removed and the counts are not changed', async () => {
    const changed = { ...file, anchor: null } as unknown as EvidencePack
    const [code, report] = await verifyText(writePack(changed))
    expect([code, notPassed(report)]).toEqual([1, ['contents failed', OPEN, 'anchor failed']])
  })

  it.each<[string, (text: string) => string]>([
    ['another version', (each) => each.replace('"version":1,"witnesses"', '"version":2,"witnesses"')],
    ['an unknown member', (each) => each.replace('{"agreement"', '{"added":1,"agreement"')],
    ['entries that are no texts', (each) => each.replace('"entries":[', '"entries":[1,')],
    ['a changed space', (each) => each.replace('"agreement":null', '"agreement": null')],
    ['no line feed at its end', (each) => each.trimEnd()],
    ['a part cut off', (each) => each.slice(0, -100)],
  ])('is refused with %s', async (_name, change) => {
    await writeFile(network.setup.path('changed.json'), change(text))
    const { code, stderr } = await network.run('verify changed.json --genesis genesis.json')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/This is not an evidence pack|not canonical/)])
  })
})

import { readFile, writeFile } from 'node:fs/promises'
import { type JsonObject, RECORD_KINDS, writeJson } from '@chancery/protocol'
import {
  foreignAgreement,
  foreignCommitment,
  foreignConsensus,
  foreignProof,
  foreignSovereign,
  foreignVote,
  signAgreed,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'
import type { CommandRun } from '../../testing/run-command.suite.ts'
import { KIND_WORDS } from './kinds.ts'

const partner = foreignSovereign('PARTNER-NET')
let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork()
})
afterAll(() => network.close())

/** Writes a record to a file of the test setup. */
async function file(name: string, record: ForeignObject): Promise<void> {
  await writeFile(network.setup.path(name), wireText(record))
}

/** The reason of a call that lacks an input: exit code 2, and never valid. */
function neededBy({ code, json }: CommandRun): unknown {
  const { valid, reason } = json()
  expect([code, valid]).toEqual([2, false])
  return reason
}

describe('verify', () => {
  it('has words for every kind', () => {
    expect(Object.keys(KIND_WORDS)).toEqual(RECORD_KINDS)
  })

  it('verifies records of the authority with its genesis block, without a request', async () => {
    await network.asOperator('attestation issue alice --role role:client --out alice.json')
    await network.asOperator('partner export-feed --out feed.json')
    const policy = await network.asOperator('policy show network --json')
    await writeFile(network.setup.path('policy.json'), policy.stdout)
    for (const [name, kind] of [
      ['alice.json', 'membership-attestation'],
      ['feed.json', 'sovereign-revocation-feed'],
      ['policy.json', 'policy-manifest'],
      ['genesis.json', 'genesis-block'],
    ]) {
      const { code, json } = await network.run(`verify ${name} --genesis genesis.json --json`)
      expect([code, json()]).toMatchObject([0, { valid: true, kind, reason: 'valid', problem: null }])
    }
    const { code, stdout } = await network.run('verify alice.json --genesis genesis.json')
    expect(code).toBe(0)
    expect(stdout).toContain('Valid: The issuer attested this subject.')
    expect(stdout).toContain('na-test')
  })

  it('verifies the index of a feed', async () => {
    const index = (await network.na.request('GET', '/sovereign-revocation-feed/index')).json as JsonObject
    const verdict = async (record: JsonObject, trust = '--genesis genesis.json') => {
      await writeFile(network.setup.path('index.json'), writeJson(record))
      const { code, json } = await network.run(`verify index.json ${trust} --json`)
      return [code, json()['kind'], json()['reason']]
    }
    expect(await verdict(index)).toEqual([0, 'feed-index', 'valid'])
    expect(await verdict({ ...index, sequence: 99 })).toEqual([1, 'feed-index', 'invalid_signature'])
    expect(await verdict({ ...index, total_ids: 5 })).toEqual([1, 'feed-index', 'malformed'])
    expect(await verdict({ ...index, signatures: [] })).toEqual([1, 'feed-index', 'missing_signature'])
    expect(neededBy(await network.run('verify index.json --json'))).toBe('keys_needed')
  })

  it('takes what evaluate --out writes: the decision holds only with its own justification', async () => {
    const attestation = await network.asOperator('attestation issue eve --role role:client --json')
    const id = String(attestation.json()['attestation_id'])
    for (const name of ['one.json', 'two.json'])
      await network.asOperator(`ask --as operator ledger.read --attestation ${id} --out ${name}`)
    const [one, two] = await Promise.all(
      ['one.json', 'two.json'].map(
        async (name) => JSON.parse(await readFile(network.setup.path(name), 'utf8')) as JsonObject,
      ),
    )
    const stored = await network.run('verify one.json --genesis genesis.json --json')
    expect([stored.code, stored.json()]).toMatchObject([0, { valid: true, kind: 'boundary-decision' }])
    // Genuine, and a denial: text and JSON say so.
    expect(stored.json()['result']).toBe('unauthorized_capability_out_of_scope')
    expect((await network.run('verify one.json --genesis genesis.json')).stdout).toContain('Denied: unauthorized_')
    const proof = one?.['justification_proof'] as JsonObject
    for (const [changed, reason] of [
      [{ ...one, justification_proof: two?.['justification_proof'] }, 'decision_id_mismatch'],
      [{ ...one, justification_proof: { ...proof, proof_issued_at: '2030-01-02T03:00:01Z' } }, 'invalid_signature'],
      [{ ...one, justification_proof: {} }, 'malformed'],
      [{ ...one, more: 1 }, 'unrecognized'],
    ] as const) {
      await writeFile(network.setup.path('changed.json'), JSON.stringify(changed))
      const { code, json } = await network.run('verify changed.json --genesis genesis.json --json')
      expect([code, json()['reason']]).toEqual([1, reason])
    }
  })

  it('says what is wrong, in words and for programs, and exits with 1', async () => {
    const alice = JSON.parse(await readFile(network.setup.path('alice.json'), 'utf8')) as JsonObject
    await writeFile(network.setup.path('mallory.json'), writeJson({ ...alice, subject_id: 'mallory' }))
    const changed = await network.run('verify mallory.json --genesis genesis.json')
    expect([changed.code, changed.stdout]).toEqual([1, expect.stringContaining('(invalid_signature)')])
    const foreign = await network.run(`verify alice.json --key ${partner.publicKey} --json`)
    expect([foreign.code, foreign.json()]).toMatchObject([1, { valid: false, reason: 'invalid_signature' }])
    // A missing key is a wrong call: the record may be valid.
    expect(neededBy(await network.run('verify alice.json --json'))).toBe('keys_needed')
    const blind = await network.run('verify alice.json')
    expect(blind.code).toBe(2)
    expect(blind.stdout).toContain('Not verified: no key was given. Add --key or --genesis.')
    await writeFile(network.setup.path('broken.json'), writeJson({ ...alice, roles: 'role:client' }))
    const broken = await network.run('verify broken.json --genesis genesis.json')
    expect([broken.code, broken.stdout.includes('roles: an array is needed')]).toEqual([1, true])
    await writeFile(network.setup.path('other.json'), '{"hello":1}')
    const other = await network.run('verify other.json --genesis genesis.json --json')
    expect([other.code, other.json()]).toMatchObject([1, { valid: false, kind: null, reason: 'unrecognized' }])
  })

  it('requires either --genesis or --key', async () => {
    const both = await network.run(`verify alice.json --genesis genesis.json --key ${partner.publicKey}`)
    expect([both.code, both.stderr.includes('not both')]).toEqual([2, true])
    expect((await network.run('verify nothing.json --genesis genesis.json')).stderr).toContain('no such file')
    await writeFile(network.setup.path('text.json'), 'hello')
    expect((await network.run('verify text.json')).stderr).toContain('is not JSON')
  })

  it('takes an agreement by the keys of each party only', async () => {
    const offerer = foreignSovereign('OFFERER-NET')
    const now = network.clock.now()
    const reasonOf = async (signers: readonly (typeof partner)[], flags: string): Promise<unknown> => {
      const parties = { offerer: offerer.sovereign_id, responder: partner.sovereign_id }
      await file('agreement.json', signAgreed(foreignAgreement(parties, now), ...signers))
      const { code, json } = await network.run(`verify agreement.json ${flags} --json`)
      expect(code).toBe(json()['valid'] === true ? 0 : 1)
      return json()['reason']
    }
    const parties = `--offerer-key ${offerer.publicKey} --responder-key ${partner.publicKey}`
    expect(await reasonOf([partner, offerer], parties)).toBe('valid')
    expect(await reasonOf([offerer], parties)).toBe('missing_responder_signature')
    expect(await reasonOf([offerer, offerer], parties)).toBe('invalid_responder_signature')
    const listed = `--key ${offerer.publicKey} --key ${partner.publicKey}`
    for (const signers of [[partner, offerer], [offerer]]) {
      const parties = { offerer: offerer.sovereign_id, responder: partner.sovereign_id }
      await file('agreement.json', signAgreed(foreignAgreement(parties, now), ...signers))
      expect(neededBy(await network.run(`verify agreement.json ${listed} --json`))).toBe('party_keys_needed')
    }
    expect(await reasonOf([partner, offerer], `${parties} --offerer-key ${partner.publicKey}`)).toBe(
      'overlapping_party_keys',
    )
    const { stdout } = await network.run(`verify agreement.json ${listed}`)
    expect(stdout).toContain('Add --offerer-key and --responder-key.')
  })

  it('says what a record that holds does not prove', async () => {
    const { code, stdout } = await network.run('verify genesis.json')
    expect([code, stdout.includes('Not proven: that this root key')]).toEqual([0, true])
    expect((await network.run('verify genesis.json --json')).json()['unproven']).toEqual(['root_key', 'newest'])
    const known = await network.run(`verify genesis.json --key ${network.genesis.root_public_key} --json`)
    expect([known.code, known.json()['unproven']]).toEqual([0, ['newest']])
    const alice = await network.run('verify alice.json --genesis genesis.json')
    expect(alice.stdout).toContain('Checked: signature, network, time.\nNot proven: that it was not revoked since.')
  })

  it('verifies the proof of a capability with its commitment', async () => {
    const now = network.clock.now()
    const commitment = foreignCommitment(partner, now, ['a', 'b', 'c'])
    await file('commitment.json', commitment)
    await file('proof.json', foreignProof(commitment, now, ['a', 'b', 'c'], 'b'))
    const line = `verify proof.json --key ${partner.publicKey}`
    expect(neededBy(await network.run(`${line} --json`))).toBe('commitment_needed')
    expect((await network.run(`${line} --commitment commitment.json`)).code).toBe(0)
    await file('forged.json', { ...foreignProof(commitment, now, ['a', 'b', 'c'], 'b'), revealed_capability: 'z' })
    const forged = await network.run(`verify forged.json --key ${partner.publicKey} --with commitment.json`)
    expect([forged.code, forged.stdout.includes('(leaf_hash_mismatch)')]).toEqual([1, true])
  })

  it('verifies a consensus proof with the keys of its validators', async () => {
    const now = network.clock.now()
    const about = { proof_id: 'p', decision_id: 'd' }
    const validators = ['v1-net', 'v2-net'].map((name) => foreignSovereign(name))
    const votes = validators.map((each, i) => foreignVote(each, about, now - BigInt(i) * 120_000_000n))
    await file('consensus.json', foreignConsensus(partner, about, now, { votes }))
    const line = `verify consensus.json --key ${partner.publicKey} --json`
    expect(neededBy(await network.run(line))).toBe('validator_keys_needed')
    const flags = validators.map((each) => `--validator-key ${each.sovereign_id}=${each.publicKey}`)
    expect((await network.run(`${line} ${flags[0] ?? ''}`)).json()['reason']).toBe('unknown_validator_key')
    expect((await network.run(`${line} ${flags.join(' ')}`)).json()['reason']).toBe('valid')
    const same = validators.map((each) => `--validator-key ${each.sovereign_id}=${partner.publicKey}`)
    expect((await network.run(`${line} ${same.join(' ')}`)).json()['reason']).toBe('duplicate_validator_key')
  })
})

import { readFile, writeFile } from 'node:fs/promises'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { foreignSovereign } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const partner = foreignSovereign('PARTNER-NET')
let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork()
  const operator = network.na.as('privileged')
  const treaty = {
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'] },
  }
  await operator('POST', '/admin/recognition-treaties', treaty)
  const terms = {
    responder_sovereign_id: 'PARTNER-NET',
    capabilities: ['ledger.read', 'ledger.append', 'ledger.close'],
    valid_from: '2030-01-01T00:00:00Z',
    valid_until: '2031-01-01T00:00:00Z',
    expires_at: '2030-02-01T00:00:00Z',
  }
  const offer = (await operator('POST', '/admin/agreements/offer', terms)).json as JsonObject
  const { text } = await operator('POST', '/admin/agreements/accept', { offer })
  await writeFile(network.setup.path('agreement.json'), text)
})
afterAll(() => network.close())

const ALL = '--capability ledger.read --capability ledger.append --capability ledger.close'

describe('disclose', () => {
  it('commits to everything agreed, proves one at home, and verifies it', async () => {
    const committed = await network.asOperator('record commit agreement.json --out commitment.json')
    expect([committed.code, committed.stdout.includes('at most 4, none of them shown')]).toEqual([0, true])
    const seed = await readFile(network.setup.path('commitment.json.seed'), 'utf8')
    expect(await readFile(network.setup.path('commitment.json'), 'utf8')).not.toContain(seed.trim())
    const line = `record prove commitment.json --reveal ledger.read ${ALL} --prover PARTNER-NET`
    const proved = await network.run(`${line} --out proof.json`)
    expect([proved.code, proved.stdout.includes('ledger.read')]).toEqual([0, true])
    const verified = await network.asOperator('verify proof.json --with commitment.json --json')
    expect([verified.code, verified.json()['reason'], verified.json()['warning']]).toEqual([0, 'valid', null])
    const foreign = await network.asOperator(`verify proof.json --with commitment.json --key ${partner.publicKey}`)
    expect([foreign.code, foreign.stdout.includes('(commitment_invalid_signature)')]).toEqual([1, true])
    const marked = await network.asOperator('disclose nullify proof.json --json')
    expect([marked.code, marked.json()['expires_at']]).toEqual([0, '2030-01-02T03:01:00Z'])
  })

  it('commits to a part, and refuses what was not agreed', async () => {
    const part = await network.asOperator('record commit agreement.json --capability ledger.read --json')
    expect(part.json()).toMatchObject({
      commitment: { capability_count: 4 },
      seed: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const more = await network.asOperator('record commit agreement.json --capability vault.open')
    expect([more.code, more.stderr.includes('(commit_failed)')]).toEqual([1, true])
  })

  it('proves nothing over another list', async () => {
    const line = 'record prove commitment.json --reveal ledger.read --capability ledger.read --prover P'
    const { code, stderr } = await network.run(line)
    expect([code, stderr.includes('made over at most 4 capabilities')]).toEqual([1, true])
    await writeFile(network.setup.path('wrong.seed'), 'no seed')
    const other = await network.run(`${line.replace(' --prover', ` ${ALL} --prover`)} --seed wrong.seed`)
    expect([other.code, other.stderr.includes('does not have the seed')]).toEqual([2, true])
  })

  it('labels the form of older networks, in text and in JSON', async () => {
    const committed = await network.asOperator('record commit agreement.json --unsalted --out plain.json')
    expect(committed.stdout).toContain('unsalted: hidden names can be guessed')
    await network.run(`record prove plain.json --reveal ledger.read ${ALL} --prover PARTNER-NET --out plain-proof.json`)
    const line = 'verify plain-proof.json --with plain.json'
    const [text, json] = [await network.asOperator(line), await network.asOperator(`${line} --json`)]
    expect([text.code, text.stdout]).toEqual([0, expect.stringContaining('unsalted: hidden names can be guessed')])
    expect(json.json()['warning']).toBe('unsalted: hidden names can be guessed')
    const key = network.na.genesis.network_authority.public_key
    const offline = await network.run(`verify plain-proof.json --with plain.json --key ${key}`)
    expect([offline.code, offline.stdout]).toEqual([
      0,
      expect.stringContaining('unsalted: hidden names can be guessed'),
    ])
  })

  it('signs nothing when the file is in the way or is something else', async () => {
    const before = (await network.na.auditEvents('capability_commitment_created')).length
    expect((await network.asOperator('record commit agreement.json --out commitment.json')).stderr).toContain(
      'exists already',
    )
    await writeFile(network.setup.path('wrong.json'), writeJson({ agreement: {} }))
    expect((await network.asOperator('record commit wrong.json')).stderr).toContain('is not an agreement record')
    expect(await network.na.auditEvents('capability_commitment_created')).toHaveLength(before)
  })
})

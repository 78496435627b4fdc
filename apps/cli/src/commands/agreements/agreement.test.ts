import { readFile, writeFile } from 'node:fs/promises'
import { agreementRecordForm, readJson, readReceived, verifyReceived, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { foreignSovereign } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const bolt = foreignSovereign('BOLT-NET')
let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork()
  const { code, stderr } = await network.asOperator(
    `treaty issue BOLT-NET --key ${bolt.publicKey} --role role:client --valid-for 2000h`,
  )
  if (code !== 0) throw new Error(stderr)
})
afterAll(() => network.close())

const load = async (file: string): Promise<JsonObject> =>
  readJson(await readFile(network.setup.path(file), 'utf8')) as JsonObject

describe('an agreement', () => {
  it('is offered, countered, accepted, verified and decided on, file by file', async () => {
    await writeFile(network.setup.path('scope.json'), '{"limit":90.0}')
    const steps = [
      'agreement offer BOLT-NET --capability ledger.read --capability ledger.append --scope scope.json --out offer.json',
      'agreement counter offer.json --capability ledger.read --valid-for 48h --out counter.json',
      'agreement accept offer.json --counter counter.json --out agreement.json',
      'verify agreement.json',
      'ask ledger.read --as operator --agreement agreement.json --out decision.json',
    ]
    for (const line of steps) expect([line, (await network.asOperator(line)).code]).toEqual([line, 0])
    const record = readReceived(agreementRecordForm, await load('agreement.json'))
    expect(await verifyReceived(record, [network.genesis.network_authority.public_key])).toEqual({ ok: true })
    expect(record.record.agreed_terms).toMatchObject({
      capabilities: ['ledger.read'],
      valid_from: '2030-01-02T03:00:00Z',
      valid_until: '2030-01-04T03:00:00Z',
    })
    expect((await load('decision.json'))['authorized']).toBe(true)
    expect((await network.asOperator('agreement accept offer.json --json')).json()['signatures']).toHaveLength(1)
  })

  it('that is denied a capability says which gate failed, and stops a script', async () => {
    const { code, stdout } = await network.asOperator('ask vault.open --as operator --agreement agreement.json')
    expect(code).toBe(1)
    expect(stdout).toContain('Denied: capability out of scope')
    expect(stdout).toContain('capability_check')
  })

  it('with an invalid context is refused, and the error names the field', async () => {
    await writeFile(network.setup.path('context.json'), '{"context_freshness_seq":-1}')
    const { code, stderr } = await network.asOperator(
      'ask ledger.read --as operator --agreement agreement.json --context context.json',
    )
    expect([code, stderr.includes('context_freshness_seq')]).toEqual([1, true])
  })

  it('that the authority signed for both is not shown as signed by both, and no key counts for both', async () => {
    const { code, stdout } = await network.asOperator('verify agreement.json')
    expect([code, stdout.includes('signed it for a party')]).toEqual([0, true])
    expect(stdout).toContain('is the one it was made over')
    const key = network.genesis.network_authority.public_key
    const same = await network.asOperator(`verify agreement.json --key offerer=${key} --key responder=${key}`)
    expect([same.code, same.stderr.includes('the same key')]).toEqual([2, true])
  })

  it('is not valid under other keys', async () => {
    const { code, stdout } = await network.asOperator(`verify agreement.json --key offerer=${bolt.publicKey}`)
    expect([code, stdout.includes('(invalid_offerer_signature)')]).toEqual([1, true])
    const changed = { ...(await load('agreement.json')), expires_at: '2040-01-01T00:00:00Z' }
    await writeFile(network.setup.path('longer.json'), writeJson(changed))
    const longer = await network.asOperator('verify longer.json')
    expect([longer.code, longer.stdout.includes('another end')]).toEqual([1, true])
  })

  it('offered to an unknown network warns that it cannot be accepted', async () => {
    const { code, stderr } = await network.asOperator('agreement offer UNKNOWN-NET --capability x')
    expect([code, stderr.includes('cannot be accepted')]).toEqual([0, true])
  })

  it.each([
    ['agreement offer BOLT-NET', '--capability must be given'],
    ['agreement offer BOLT-NET --capability x --valid-from tomorrow', '--valid-from must be a time'],
    ['agreement counter scope.json --capability x', 'is not a capability offer'],
    ['agreement counter offer.json --capability vault.open', 'counter_rejected'],
  ])('%s is explained', async (line, hint) => {
    const { code, stderr } = await network.asOperator(line)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(hint)
  })
})

describe('trust evidence', () => {
  it('is built from a file and verified', async () => {
    const found = { source_sovereign_id: 'A', target_sovereign_id: 'B', verdict: 'warn', reason: 'expiring' }
    await writeFile(network.setup.path('found.json'), writeJson(found))
    const built = await network.asOperator('trust-evidence build found.json --out evidence.json')
    expect([built.code, built.stdout.includes('warn (expiring)')]).toEqual([0, true])
    expect((await network.asOperator('verify evidence.json')).code).toBe(0)
    const other = await network.asOperator(`verify evidence.json --issuer-key ${bolt.publicKey}`)
    expect([other.code, other.stdout.includes('no signature')]).toEqual([1, true])
    const digest = 'f'.repeat(64)
    const graph = await network.asOperator(`verify evidence.json --graph-digest ${digest}`)
    expect([graph.code, graph.stdout.includes('another recognition graph')]).toEqual([1, true])
  })

  it('with an unknown verdict is refused', async () => {
    await writeFile(
      network.setup.path('odd.json'),
      '{"source_sovereign_id":"A","target_sovereign_id":"B","verdict":"x"}',
    )
    const { code, stderr } = await network.asOperator('trust-evidence build odd.json')
    expect([code, stderr.includes('verdict')]).toEqual([1, true])
  })
})

import { readFile, writeFile } from 'node:fs/promises'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { foreignIntent, foreignLicense, foreignSovereign, wireText } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const agent = foreignSovereign('AGENT-NET')
let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on' })
})
afterAll(() => network.close())

const file = (name: string, value: JsonObject): Promise<void> => writeFile(network.setup.path(name), writeJson(value))

const TERMS: JsonObject = {
  licensee_sovereign_id: 'AGENT-NET',
  allowed_source_ids: ['src-1'],
  allowed_access_types: [],
  valid_from: '2030-01-01T00:00:00Z',
  valid_until: '2031-01-01T00:00:00Z',
}

describe('data-usage', () => {
  it('says when there is no license', async () => {
    const { code, stderr } = await network.asOperator('policy show license')
    expect([code, stderr.includes('(no_policy)')]).toEqual([1, true])
  })

  it('is licensed, shown, declared and verified', async () => {
    await file('terms.json', TERMS)
    const published = await network.asOperator('policy publish terms.json --out license.json')
    expect([published.code, published.stdout.includes('Published and active')]).toEqual([0, true])
    const shown = await network.asOperator('policy show license')
    expect([shown.code, shown.stdout.includes('read')]).toEqual([0, true])
    const source = { source_id: 'src-1', source_type: 'public', owner_sovereign_id: 'TEST-NET' }
    await file('use.json', { sources: [source], access_types: ['read'] })
    const declared = await network.asOperator('data-usage intent use.json --out intent.json')
    expect(declared.code).toBe(0)
    const allowed = await network.asOperator('verify intent.json')
    expect([allowed.code, allowed.stdout.includes('permits this use')]).toEqual([0, true])
  })

  it('lists what a declared use may not do', async () => {
    const intent = foreignIntent(agent, network.clock.now(), { declared_access_types: ['train', 'read'] })
    await writeFile(network.setup.path('foreign.json'), wireText(intent))
    const line = `verify foreign.json --with license.json --key ${agent.publicKey}`
    const { code, stdout } = await network.asOperator(line)
    expect(code).toBe(1)
    expect(stdout).toContain('access type train is not permitted (access_type_not_permitted)')
    const forged = await network.asOperator(`${line} --licensor-key ${agent.publicKey} --json`)
    expect(forged.json()).toMatchObject({ valid: false, violation_reason: 'intent_exceeds_license' })
  })

  it('records violations as evidence, and says what it did not check', async () => {
    await file('other.json', { ...TERMS, licensee_sovereign_id: 'OTHER-NET', allowed_source_ids: [] })
    expect((await network.asOperator('policy publish other.json')).code).toBe(0)
    // The other license is the newest; that of the first licensee is still in force.
    const newest = await network.asOperator('verify intent.json --json')
    expect([newest.code, newest.json()]).toMatchObject([1, { licensee_sovereign_id: 'OTHER-NET', unproven: [] }])
    const named = await network.asOperator('evidence submit intent.json --licensee AGENT-NET')
    expect([named.code, named.stdout.includes('Recorded')]).toEqual([0, false])
    const recorded = await network.asOperator('evidence submit intent.json --licensee OTHER-NET')
    expect([recorded.code, recorded.stdout.includes('Recorded as entry')]).toEqual([1, true])
    const listed = await network.asOperator('evidence list --kind usage_violation --json')
    expect(listed.json()).toMatchObject({ entries: [{ entry: { outcome: 'violation' } }] })
    const intent = foreignIntent(agent, network.clock.now(), { declared_access_types: ['train'] })
    await writeFile(network.setup.path('foreign.json'), wireText(intent))
    await writeFile(network.setup.path('foreign-license.json'), wireText(foreignLicense(agent, network.clock.now())))
    const line = `verify foreign.json --with foreign-license.json --key ${agent.publicKey}`
    const foreign = await network.asOperator(line)
    expect([foreign.code, foreign.stdout.includes('Not checked: the signature of AGENT-NET')]).toEqual([1, true])
    const checked = await network.asOperator(`${line} --licensor-key ${agent.publicKey}`)
    expect([checked.code, checked.stdout.includes('Not checked')]).toEqual([1, false])
    const both = await network.asOperator(`${line} --licensee AGENT-NET`)
    expect([both.code, both.stderr.includes('not both')]).toEqual([2, true])
    const shown = await network.asOperator('policy show license --licensee AGENT-NET')
    expect([shown.code, shown.stdout.includes('AGENT-NET')]).toEqual([0, true])
  })

  it('allows nothing by the unverified license of another network', async () => {
    const intent = foreignIntent(agent, network.clock.now(), {})
    await writeFile(network.setup.path('own-use.json'), wireText(intent))
    const {
      policy_id: _id,
      signature: _signature,
      ...terms
    } = JSON.parse(await readFile(network.setup.path('license.json'), 'utf8')) as JsonObject
    const sources = (intent as unknown as { declared_sources: { source_id: string }[] }).declared_sources
    await file('made.json', {
      ...terms,
      policy_id: 'made-up',
      licensor_sovereign_id: 'AGENT-NET',
      allowed_source_ids: sources.map(({ source_id }) => source_id),
      signature: null,
    })
    const line = `verify own-use.json --with made.json --key ${agent.publicKey}`
    const ran = await network.asOperator(line)
    expect([ran.code, ran.stdout]).toEqual([
      2,
      expect.stringContaining('the signature of the license was not verified'),
    ])
    expect((await network.asOperator(`${line} --json`)).json()).toMatchObject({
      valid: null,
      unproven: ['the signature of AGENT-NET on the license: give --licensor-key'],
    })
    expect((await network.asOperator(`${line} --licensor-key ${agent.publicKey}`)).code).toBe(1)
  })

  it('explains a license the authority does not take', async () => {
    await file('bad.json', { ...TERMS, valid_until: '2029-01-01T00:00:00Z' })
    const { code, stderr } = await network.asOperator('policy publish bad.json')
    expect([code, stderr.includes('(invalid_timestamp_order)')]).toEqual([1, true])
  })

  it('does not show the license of another network', async () => {
    const other = await openNetwork({}, 'OTHER-NET')
    await writeFile(other.setup.path('terms.json'), writeJson(TERMS))
    expect((await other.asOperator('policy publish terms.json')).code).toBe(0)
    const { code, stderr } = await network.asOperator(`policy show license --url ${other.na.url}`)
    expect([code, stderr.includes('another network: OTHER-NET')]).toEqual([1, true])
    await other.close()
  })
})

import { readFile, writeFile } from 'node:fs/promises'
import type { JsonObject } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork()
  await network.run('policy new --name spending')
})
afterAll(() => network.close())

describe('boundary-policy', () => {
  it('activates the example after a preview', async () => {
    const valid = await network.asOperator('policy publish --dry-run spending.policy.yaml')
    expect([valid.code, valid.stdout]).toEqual([0, 'Valid: spending would become version 1.\n'])
    const published = await network.asOperator('policy publish spending.policy.yaml --out signed.json')
    expect(published.stdout).toContain('Not in force yet: chancery policy activate spending 1')
    expect((await network.run(`verify signed.json --url ${network.na.url}`)).code).toBe(0)
    const simulated = await network.asOperator(
      'policy publish --dry-run spending.policy.yaml --contexts spending.cases.yaml --json',
    )
    expect(simulated.json()).toMatchObject({ total: 4, newly_denied: 1, newly_allowed: 0, unchanged: 3 })
    const dry = await network.asOperator('policy activate spending 1 --contexts spending.cases.yaml --dry-run')
    expect(dry.stdout).toContain('Of 4 requests: 1 newly denied, 0 newly allowed, 3 as now.')
    expect(dry.stdout).toContain("request 2: newly denied, policy gate 'spending/amount' failed")
    expect((await network.asOperator('policy list')).stdout).toMatch(/spending +1 +- /)
    const done = await network.asOperator('policy activate spending 1 --contexts spending.cases.yaml --yes')
    expect([done.code, done.stderr.includes('1 newly denied')]).toEqual([0, true])
    const list = await network.asOperator('policy list')
    expect(list.stdout).toMatch(/spending +1 +active/)
    expect(list.stdout).toContain('The active set is healthy. Enforcement: optional.')
  })

  it('decides with the active policy', async () => {
    const claims = '{"capabilities":["payment.send"]}'
    await writeFile(network.setup.path('claims.json'), claims)
    const issued = await network.asOperator('attestation issue vendor --role role:client --claims claims.json --json')
    const id = String(issued.json()['attestation_id'])
    await writeFile(network.setup.path('ask.yaml'), 'request_parameters: { amount: 1001, currency: EUR }\n')
    const denied = await network.asOperator(
      `ask --as operator payment.send --attestation ${id} --context ask.yaml --out d.json`,
    )
    expect([denied.code, denied.stdout.includes("Denied: policy gate 'spending/amount' failed")]).toEqual([1, true])
    expect(await readFile(network.setup.path('d.json'), 'utf8')).toContain('justification_proof')
    await writeFile(network.setup.path('ask.yaml'), 'request_parameters: { amount: 999, currency: EUR }\n')
    expect(
      (await network.asOperator(`ask --as operator payment.send --attestation ${id} --context ask.yaml`)).code,
    ).toBe(0)
    expect((await network.asOperator('ask --as operator payment.send')).code).toBe(2)
  })

  it('stores versions, rolls back and deactivates', async () => {
    await network.asOperator('policy publish spending.policy.yaml')
    expect((await network.asOperator('policy activate spending 2 --yes')).stdout).toContain(
      'Version 1 is out of force.',
    )
    const { versions } = (await network.asOperator('policy show spending --json')).json()
    expect((versions as JsonObject[]).map((each) => [each['version'], each['active']])).toEqual([
      [2, true],
      [1, false],
    ])
    expect((await network.asOperator('policy deactivate spending 2')).code).toBe(2)
    expect((await network.asOperator('policy deactivate spending 2 --yes')).code).toBe(0)
    expect((await network.asOperator('policy deactivate spending 2 --yes')).code).toBe(1)
    expect((await network.asOperator('policy activate spending x')).code).toBe(2)
  })

  it('reports every issue of an invalid policy', async () => {
    const text = await readFile(network.setup.path('spending.policy.yaml'), 'utf8')
    await writeFile(network.setup.path('bad.yaml'), text.replace('max_value.v1', 'max_value.v9'))
    const bad = await network.asOperator('policy publish --dry-run bad.yaml')
    expect([bad.code, bad.stdout.includes('amount: gate_type is not registered here')]).toEqual([1, true])
    const refused = await network.asOperator('policy publish bad.yaml')
    expect(refused.code).toBe(1)
  })
})

import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup = undefined as unknown as TestContext
beforeAll(async () => {
  setup = await TestContext.make()
  await setup.run('policy new --name pay')
})
afterAll(() => setup.remove())

async function edit(file: string, from: string, to: string): Promise<() => Promise<void>> {
  const text = await readFile(setup.path(file), 'utf8')
  expect(text).toContain(from)
  await writeFile(setup.path(file), text.replace(from, to))
  return () => writeFile(setup.path(file), text)
}

describe('policy test', () => {
  it('passes the example without an authority and lists gates that no case makes fail', async () => {
    const { code, stdout } = await setup.run('policy test . --require-coverage')
    expect(stdout).toContain('4 passed, 0 failed')
    expect(stdout).toContain('Gates reached by a case: 3 of 3')
    expect(stdout).toContain('no case sees pay/currency fail')
    expect(code).toBe(0)
  })

  it('shows what differs, and fails', async () => {
    const undo = await edit('pay.policy.yaml', 'max: 1000', 'max: 2000')
    const { code, stdout } = await setup.run('policy test .')
    await undo()
    expect(code).toBe(1)
    expect(stdout).toContain('FAILED  pay.cases.yaml: a large payment is denied')
    expect(stdout).toMatch(/outcome +expected deny, got allow/)
    expect(stdout).toMatch(/pay\/amount +expected fail, got pass/)
  })

  it('writes JUnit for build servers, with names that cannot break out', async () => {
    const undo = await edit('pay.cases.yaml', 'name: a large payment is denied', `name: 'a "large" <payment> & more'`)
    const redo = await edit('pay.policy.yaml', 'max: 1000', 'max: 2000')
    const { code } = await setup.run('policy test . --junit out.xml')
    await undo()
    await redo()
    expect(code).toBe(1)
    const xml = await readFile(setup.path('out.xml'), 'utf8')
    expect(xml).toContain('<testsuites tests="4" failures="1">')
    expect(xml).toContain(
      'name="a &quot;large&quot; &lt;payment&gt; &amp; more"><failure message="outcome: expected deny',
    )
  })

  it('gives the same as JSON', async () => {
    const { json } = await setup.run('policy test . --json')
    expect(json()).toMatchObject({
      passed: 4,
      failed: 0,
      coverage: { gates: 3, unreached: [], never_failed: ['pay/currency'] },
    })
  })

  it('warns that a kind which is left out counts as direct', async () => {
    const undo = await edit(
      'pay.policy.yaml',
      'capabilities: [payment.*]',
      'capabilities: [payment.*]\n  parent_kinds: [agreement, direct]',
    )
    const { code, stdout } = await setup.run('policy test .')
    const { json } = await setup.run('policy test . --json')
    await undo()
    expect(code).toBe(0)
    expect(stdout).toMatch(/Warning: pay: parent_kinds: .* counts as direct/)
    expect(json()).toMatchObject({ warnings: [{ policy_id: 'pay' }] })
  })

  it('names gates no case reaches', async () => {
    const undo = await edit('pay.policy.yaml', 'capabilities: [payment.*]', 'capabilities: [nothing.*]')
    const { code, stdout } = await setup.run('policy test .')
    const required = await setup.run('policy test . --require-coverage')
    await undo()
    expect(code).toBe(1)
    expect(required.code).toBe(1)
    expect(stdout).toContain('Gates reached by a case: 0 of 3')
    expect(stdout).toContain('no case reaches pay/amount')
    expect(stdout).toMatch(/pay\/amount +expected pass, got not run/)
  })

  it('uses claims as facts only under an attestation', async () => {
    const folder = setup.path('vendors')
    await (await import('node:fs/promises')).mkdir(folder)
    const policy = {
      policy_id: 'vendors',
      valid_from: '2020-01-01T00:00:00Z',
      valid_until: '2090-01-01T00:00:00Z',
      gates: [
        {
          gate_id: 'app',
          gate_type: 'attestation_claim.v1',
          order: 0,
          config: { path: 'attributes.app', claim: 'apps' },
        },
      ],
    }
    const context = { requested_capability: 'secret.rotate', attributes: { app: 'billing' } }
    const attestation = { subject_id: 'v', claims: { apps: ['billing'] } }
    const gates = (word: string) => ({ gates: { 'vendors/app': word } })
    const cases = [
      { name: 'claimed', basis: { attestation }, context, expect: { outcome: 'allow', ...gates('pass') } },
      { name: 'no attestation', context, expect: { outcome: 'deny', ...gates('missing_context') } },
    ]
    await writeFile(`${folder}/vendors.policy.json`, JSON.stringify(policy))
    await writeFile(`${folder}/vendors.cases.json`, JSON.stringify({ cases }))
    expect((await setup.run('policy test vendors')).stdout).toContain('2 passed, 0 failed')
  })

  it.each([
    ['pay.cases.yaml', 'outcome: allow', 'outcome: maybe', 'expect.outcome must be allow or deny'],
    ['pay.cases.yaml', 'pay/amount: pass', 'pay/amonut: pass', 'no policy of this folder has the gate pay/amonut'],
    ['pay.cases.yaml', 'request_parameters:', 'request_params:', 'has an unknown member'],
    ['pay.policy.yaml', 'max: 1000', 'max: lots', 'amount: config.max: a number is needed'],
    ['pay.policy.yaml', 'gates:', 'gates: [', 'is not YAML'],
  ])('explains %s with %s as %s', async (file, from, to, hint) => {
    const undo = await edit(file, from, to)
    const { code, stderr } = await setup.run('policy test .')
    await undo()
    expect([code, stderr.includes(hint)]).toEqual([1, true])
  })

  it('refuses a folder with nothing in it, and never overwrites', async () => {
    expect((await setup.run('policy test /nowhere')).code).toBe(2)
    expect((await setup.run('policy new --name pay')).stderr).toContain('exists already')
    expect((await setup.run('policy new --name a/b')).code).toBe(2)
  })
})

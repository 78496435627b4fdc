import { writeFile } from 'node:fs/promises'
import { instantOf } from '@chancery/protocol'
import vectors from '@chancery/protocol/vectors/foreign-decision.json' with { type: 'json' }
import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

const [denied, allowed] = vectors.cases
const FLAGS = `--attestation attestation.json --treaty treaty.json --key ${vectors.authority_key}`
let setup: TestContext

beforeAll(async () => {
  setup = await TestContext.make()
})
afterAll(() => setup.remove())

async function verify(line: string, changes: Readonly<Record<string, string>> = {}): Promise<[number, unknown]> {
  const files = {
    'allowed.json': `{"decision":${allowed?.decision},"justification_proof":${allowed?.justification}}`,
    'denied.json': `{"decision":${denied?.decision},"justification_proof":${denied?.justification}}`,
    'asked.json': `{"decision":${allowed?.decision},"justification_proof":${allowed?.justification},"context":${allowed?.context}}`,
    'context.json': allowed?.context ?? '',
    'denied-context.json': denied?.context ?? '',
    'attestation.json': vectors.attestation,
    'treaty.json': vectors.treaty,
    ...changes,
  }
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(setup.path(name), text)))
  const { code, json } = await setup.run(`verify ${line} --json`, { now: () => instantOf(vectors.now) })
  return [code, json()['reason']]
}

it("follows a decision on a partner's member to all it rests on", async () => {
  expect(await verify(`allowed.json --context context.json ${FLAGS}`)).toEqual([0, 'valid'])
  expect(await verify(`denied.json --context denied-context.json ${FLAGS}`)).toEqual([0, 'valid'])
  expect(await verify(`asked.json ${FLAGS}`)).toEqual([0, 'valid'])
})

it('verifies the context in a file, also without attestation and treaty', async () => {
  const changed = `{"decision":${allowed?.decision},"justification_proof":${allowed?.justification},"context":${allowed?.context.replace('ctx-3', 'ctx-4')}}`
  const line = `asked.json --key ${vectors.authority_key}`
  expect(await verify(line)).toEqual([0, 'valid'])
  expect(await verify(line, { 'asked.json': changed })).toEqual([1, 'context_digest_mismatch'])
})

it('shows whether the decision allows or denies', async () => {
  await verify(`allowed.json --context context.json ${FLAGS}`)
  const now = (): bigint => instantOf(vectors.now)
  const allow = await setup.run(`verify allowed.json --with context.json ${FLAGS}`, { now })
  expect(allow.stdout).toContain('Allowed: authorized\n')
  const deny = await setup.run(`verify denied.json --with denied-context.json ${FLAGS}`, { now })
  expect(deny.stdout).toContain('Denied: unauthorized_attestation_basis\n')
  const data = await setup.run(`verify denied.json --with denied-context.json ${FLAGS} --json`, { now })
  expect(data.json()).toMatchObject({ valid: true, result: 'unauthorized_attestation_basis' })
})

it.each([
  ['context.json', 'context_digest_mismatch', (text: string) => text.replace('ctx-3', 'ctx-4')],
  ['attestation.json', 'attestation_binding_mismatch', (text: string) => text.replace('role:client', 'role:other')],
  ['treaty.json', 'recognition_mismatch', (text: string) => text.replace('"metadata":{}', '"metadata":{"a":1}')],
  ['treaty.json', 'treaty_invalid', (text: string) => text.replace(/"sig":"./, '"sig":"A')],
  ['attestation.json', 'attestation_invalid', (text: string) => text.replace(/"sig":"./, '"sig":"A')],
] as const)('names what was changed in %s: %s', async (name, reason, change) => {
  const files: Readonly<Record<string, string>> = {
    'context.json': allowed?.context ?? '',
    'attestation.json': vectors.attestation,
    'treaty.json': vectors.treaty,
  }
  const changed = { [name]: change(files[name] ?? '') }
  expect(await verify(`allowed.json --context context.json ${FLAGS}`, changed)).toEqual([1, reason])
})

it('needs all records', async () => {
  const run = async (line: string): Promise<number> => (await setup.run(line)).code
  expect(await run('verify allowed.json --with context.json')).toBe(2)
  expect(await run(`verify allowed.json ${FLAGS}`)).toBe(2)
})

import { writeFile } from 'node:fs/promises'
import {
  DAY,
  draftGenesisBlock,
  draftJoinCertificate,
  instantOf,
  signList,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { Instant, Signer } from '@chancery/protocol'
import { FIRST_KEY, signSuccession, testSigner } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

const NOW = instantOf('2030-01-02T03:00:00Z')
const [root, first, second] = [
  await testSigner('rs-test', 'root'),
  await testSigner('na-test', 'na'),
  await testSigner('na-2', 'na-2'),
]
let setup: TestContext

async function certificate(name: string, by: Signer, now: Instant): Promise<void> {
  const draft = draftJoinCertificate({
    cert_id: name,
    node_public_key: second.publicKey,
    network_name: 'AUDIT-NET',
    roles: [],
    issued_by: by.keyId,
    now,
    validityHours: 24 * 400,
  })
  await writeFile(setup.path(`${name}.json`), writeJson(await signList(draft, by)))
}

beforeEach(async () => {
  setup = await TestContext.make()
  const window = { valid_from: writeInstant(NOW - 10n * DAY), valid_to: writeInstant(NOW + 90n * DAY) }
  const network_authority = { public_key: first.publicKey, ...window }
  const choices = { network_name: 'AUDIT-NET', root_public_key: root.publicKey, network_authority }
  const genesis = await signList(draftGenesisBlock(choices), root)
  const next = await signSuccession(setup.path('.'), { genesis, key: FIRST_KEY }, { keyId: 'na-2', seed: 'na-2' }, NOW)
  await writeFile(setup.path('g1.json'), writeJson(genesis))
  await writeFile(setup.path('g2.json'), writeJson(next.genesis))
  await writeFile(setup.path('h2.json'), writeJson(next.history))
  await certificate('old', first, NOW - DAY)
  await certificate('new', second, NOW)
  await certificate('late', first, NOW + 31n * DAY)
})
afterEach(() => setup.remove())

describe('verify with a key history', () => {
  const verdict = async (file: string, trust: string, now = NOW): Promise<unknown> =>
    (await setup.run(`verify ${file}.json ${trust} --json`, { now: () => now })).json()['reason']

  it('verifies what each key signed in its time, and nothing the old key signed later', async () => {
    const both = '--genesis g2.json --key-history h2.json'
    expect(await verdict('old', both)).toBe('valid')
    expect(await verdict('new', both)).toBe('valid')
    expect(await verdict('late', both, NOW + 32n * DAY)).toBe('invalid_signature')
    expect(await verdict('old', '--genesis g2.json')).toBe('invalid_signature')
  })

  it('takes a history only with the block of the same root that it belongs to', async () => {
    const { code, stderr } = await setup.run('verify old.json --genesis g1.json --key-history h2.json')
    expect([code, stderr.includes('does not belong to the block')]).toEqual([1, true])
    expect((await setup.run('verify old.json --key-history h2.json')).code).not.toBe(0)
  })
})

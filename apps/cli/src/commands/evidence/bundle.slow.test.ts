import { readFile, writeFile } from 'node:fs/promises'
import { verifyBundle, readBundle } from '@chancery/sdk/evidence'
import { DecisionBundleError } from '@chancery/sdk/internal'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'
import { verifyWithSigstore } from './sigstore.suite.ts'

let network: RealNetwork
let id: string
let bundle: string
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on' })
  id = await decide()
  bundle = (await network.asOperator(`evidence receipt ${id}`)).stdout
})
afterAll(() => network.close())

async function decide(): Promise<string> {
  const request = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await network.na.as('privileged')('POST', '/admin/attestations', request), 201)
  const asked = await network.asOperator(
    `ask --as operator secret.rotate --attestation ${String(attestation_id)} --quiet`,
  )
  return asked.stdout.trim()
}

const verifyBySigstore = (text: string): void => verifyWithSigstore(text, network.genesis.network_authority.public_key)

describe('the verifier of Sigstore', () => {
  it('accepts the bundle with the key of the genesis block', () => {
    expect(() => verifyBySigstore(bundle)).not.toThrow()
  })

  it.each(['payload', 'payloadType', 'sig', 'hint'])('refuses a bundle whose %s was changed', (name) => {
    const start = bundle.indexOf(`"${name}":"`) + name.length + 4
    const end = bundle.indexOf('"', start)
    expect(end - start).toBeGreaterThan(10)
    let refusals = 0
    for (let at = start; at < end; at += Math.max(1, Math.trunc((end - start) / 60))) {
      const changed = flip(bundle, at)
      // Base64 has two spellings of some last characters, with the same bytes.
      if (name !== 'hint' && name !== 'payloadType' && sameBytes(bundle.slice(start, end), changed.slice(start, end)))
        continue
      expect(() => verifyBySigstore(changed)).toThrow(name === 'hint' ? 'no key' : 'signature verification failed')
      refusals += 1
    }
    expect(refusals).toBeGreaterThan(10)
  })
})

const sameBytes = (a: string, b: string): boolean => Buffer.from(a, 'base64').equals(Buffer.from(b, 'base64'))

/** Another character of base64 and hexadecimal, so that the change is not only a broken form. */
function flip(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === 'a' ? 'b' : 'a'}${text.slice(at + 1)}`
}

describe('verify', () => {
  it.each(['sigstore', 'dsse'])('verifies what evidence bundle writes as %s', async (form) => {
    const written = await network.asOperator(`evidence receipt ${id} --form ${form} --out ${form}.json`)
    expect([written.code, written.stderr]).toEqual([0, ''])
    const found = await network.run(`verify ${form}.json --genesis genesis.json`)
    expect([found.code, found.stderr]).toEqual([0, ''])
    expect(found.stdout).toContain('Valid.')
    expect(found.stdout).toContain('Allowed.')
    const data = (await network.run(`verify ${form}.json --genesis genesis.json --json`)).json()
    expect(data).toMatchObject({
      valid: true,
      outcome: expect.stringMatching(/^(allowed|denied)$/),
      checked: ['signature', 'network'],
      form,
      decision: { decision_id: id },
      entry: { store_sequence: 1 },
    })
    const again = await network.asOperator(`evidence receipt ${id} --form ${form} --out ${form}.json`)
    expect(again.code).not.toBe(0)
    // Ed25519 signatures are deterministic: the command prints the same text.
    const printed = await network.asOperator(`evidence receipt ${id} --form ${form}`)
    expect(printed.stdout).toBe(await readFile(network.setup.path(`${form}.json`), 'utf8'))
  })

  it.each(['sigstore', 'dsse'])(
    'refuses the %s form with any one byte changed, removed or added',
    async (form) => {
      const text = (await network.asOperator(`evidence receipt ${id} --form ${form}`)).stdout
      const keys = { genesis: network.genesis }
      const isAccepted = async (changed: string): Promise<boolean> => {
        try {
          return (await verifyBundle(readBundle(changed).envelope, keys)).valid
        } catch (error) {
          if (!(error instanceof DecisionBundleError)) throw error
          return false
        }
      }
      expect(await isAccepted(text)).toBe(true)
      const accepted: string[] = []
      for (let at = 0; at < text.length; at += 1) {
        const [before, char, after] = [text.slice(0, at), text.charCodeAt(at), text.slice(at + 1)]
        const changes = [
          flip(text, at),
          before + String.fromCharCode(char ^ 1) + after,
          before + after,
          `${before} ${text.slice(at)}`,
        ]
        for (const changed of changes)
          if (changed !== text && (await isAccepted(changed))) accepted.push(`${at} ${changed}`)
      }
      expect(accepted).toEqual([])
    },
    120_000,
  )

  it('refuses the authority of another network', async () => {
    const other = await openNetwork({}, 'OTHER-NET')
    try {
      await writeFile(other.setup.path('bundle.json'), bundle)
      const { code, stdout } = await other.run('verify bundle.json --genesis genesis.json')
      expect([code, stdout]).toEqual([1, expect.stringContaining('not a key of this network')])
    } finally {
      await other.close()
    }
  })

  it('says what to do with a text that is no bundle', async () => {
    await writeFile(network.setup.path('pretty.json'), JSON.stringify(JSON.parse(bundle), null, 2))
    const { code, stderr } = await network.run('verify pretty.json --genesis genesis.json')
    expect([code, stderr]).toEqual([1, expect.stringContaining('Ask for the file again, unchanged.')])
  })
})

it('evidence receipt of an unknown decision writes nothing', async () => {
  const { code, stdout, stderr } = await network.asOperator('evidence receipt nothing --out nothing.json')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('The decision is not in the store.')
  await expect(readFile(network.setup.path('nothing.json'))).rejects.toThrow('ENOENT')
})

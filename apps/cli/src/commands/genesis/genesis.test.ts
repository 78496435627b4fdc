import { chmod, readFile, writeFile } from 'node:fs/promises'
import { HOUR, NO_POLICY_MANIFEST, readGenesisBlock, readJson, verifyGenesisBlock } from '@chancery/protocol'
import type { GenesisBlock, JsonObject } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOW, TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeEach(async () => {
  setup = await TestContext.make()
  await setup.run('keygen root --out root --key-id rs-1')
  await setup.run('keygen authority --out na')
})
afterEach(() => setup.remove())

const CREATE = 'genesis create --name EXAMPLE-NET --root-key root.pub --authority-key na.pub --out g.json'
const SIGN = 'genesis sign g.json --root-private-key root.key'

async function block(name = 'g.json'): Promise<GenesisBlock> {
  return readGenesisBlock(readJson(await readFile(setup.path(name), 'utf8')))
}

async function change(name: string, members: JsonObject): Promise<void> {
  const before = readJson(await readFile(setup.path(name), 'utf8')) as JsonObject
  await writeFile(setup.path(name), JSON.stringify({ ...before, ...members }))
}

describe('genesis create', () => {
  it('writes an unsigned block with every default', async () => {
    expect((await setup.run(CREATE)).code).toBe(0)
    expect(await block()).toMatchObject({
      network_name: 'EXAMPLE-NET',
      network_version: 'v0.1',
      network_authority: { valid_from: '2030-01-02T03:00:00Z', valid_to: '2030-04-02T03:00:00Z' },
      policy_manifest: { hash: NO_POLICY_MANIFEST, url: null },
      bootstrap_anchors: [],
      signatures: [],
    })
  })

  it('takes keys as base64, anchors and a length', async () => {
    const { root_public_key: key } = (await setup.run(CREATE), await block())
    const line = `${CREATE.replace('root.pub', key).replace('g.json', 'h.json')} --valid-days 1 --anchor a=h:1 --anchor b=[::1]:2`
    expect((await setup.run(line)).code).toBe(0)
    expect(await block('h.json')).toMatchObject({
      root_public_key: key,
      network_authority: { valid_to: '2030-01-03T03:00:00Z' },
      bootstrap_anchors: [
        { id: 'a', endpoint: 'h:1' },
        { id: 'b', endpoint: '[::1]:2' },
      ],
    })
  })

  it('refuses a private key file under another name, also when its seed happens to be a public key', async () => {
    const { root_public_key } = (await setup.run(CREATE), await block())
    await writeFile(setup.path('kept.txt'), `# Ed25519 Private Key\n${root_public_key}\n`)
    const { code, stderr } = await setup.run(CREATE.replace('root.pub', 'kept.txt').replace('g.json', 'h.json'))
    expect(code).toBe(2)
    expect(stderr).toContain('--root-public-key is neither')
  })

  it.each([
    ['one key for both', CREATE.replace('na.pub', 'root.pub'), 'must differ'],
    ['a private key', CREATE.replace('root.pub', 'root.key'), '--root-public-key is neither'],
    ['a missing file', CREATE.replace('root.pub', 'gone.pub'), '--root-public-key is neither'],
    ['no days', `${CREATE} --valid-days 0`, '--valid-days must be'],
    ['an anchor without port', `${CREATE} --anchor a=host`, '--anchor must read'],
    ['a bad hash', `${CREATE} --policy-hash ${'x'.repeat(300)}`, '--policy-hash is sha256:'],
    ['a placeholder as hash', `${CREATE} --policy-hash sha256:placeholder`, '--policy-hash is sha256:'],
  ])('refuses %s', async (_name, line, problem) => {
    const { code, stderr } = await setup.run(line)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })

  it('does not repeat a private key given by mistake', async () => {
    // Fixed, because one random seed in sixteen is also a valid public key and is not recognised as a seed.
    const seed = '+qi12ZNr+BMtKUew06QrViGG+9nSoyOLWv2HONZRUZY='
    const { code, stdout, stderr } = await setup.run(CREATE.replace('root.pub', seed))
    expect(code).toBe(2)
    expect(stdout + stderr).not.toContain(seed)
  })

  it('never overwrites a file', async () => {
    await writeFile(setup.path('g.json'), 'precious')
    const { code, stderr } = await setup.run(CREATE)
    expect(code).toBe(1)
    expect(stderr).toContain('it exists already')
    expect(await readFile(setup.path('g.json'), 'utf8')).toBe('precious')
  })
})

describe('genesis sign', () => {
  beforeEach(() => setup.run(CREATE))

  it('signs in place, under the id the key file notes', async () => {
    expect((await setup.run(SIGN)).code).toBe(0)
    const signed = await block()
    expect(signed.signatures.map((each) => each.key_id)).toEqual(['rs-1'])
    expect(await verifyGenesisBlock(signed)).toEqual({ ok: true })
  })

  it('keeps the unsigned block with --out, and takes --key-id', async () => {
    expect((await setup.run(`${SIGN} --out s.json --key-id other`)).code).toBe(0)
    expect((await block()).signatures).toHaveLength(0)
    expect((await block('s.json')).signatures[0]?.key_id).toBe('other')
  })

  it('adds nothing the second time', async () => {
    await setup.run(SIGN)
    expect((await setup.run(SIGN)).code).toBe(0)
    expect((await block()).signatures).toHaveLength(1)
  })

  it('refuses a key that is not the root key', async () => {
    const { code, stderr } = await setup.run(SIGN.replace('root.key', 'na.key'))
    expect(code).toBe(1)
    expect(stderr).toContain('is not the root key of the block')
    expect((await block()).signatures).toHaveLength(0)
  })

  it('refuses a block changed after it was signed', async () => {
    await setup.run(SIGN)
    await change('g.json', { network_name: 'OTHER' })
    const { code, stderr } = await setup.run(SIGN)
    expect(code).toBe(1)
    expect(stderr).toContain('does not verify')
  })

  it('warns when others can read the key', async () => {
    await chmod(setup.path('root.key'), 0o640)
    expect((await setup.run(SIGN)).stderr).toContain('chmod 600 root.key')
    expect((await setup.run(`${SIGN} --quiet`)).stderr).toBe('')
  })
})

describe('verify', () => {
  it('says yes with the facts', async () => {
    await setup.run(CREATE)
    await setup.run(SIGN)
    const { code, stdout } = await setup.run('verify g.json')
    expect(code).toBe(0)
    expect(stdout).toContain('Valid: ./g.json')
    expect(stdout).toContain((await block()).root_public_key)
    expect((await setup.run('verify g.json --json')).json()).toMatchObject({ valid: true, window: 'open' })
  })

  it('says no to a block without signature', async () => {
    await setup.run(CREATE)
    const { code, stdout } = await setup.run('verify g.json')
    expect(code).toBe(1)
    expect(stdout).toContain('it carries no signature')
  })

  it('says no when one of two signatures is bad', async () => {
    await setup.run(CREATE)
    await setup.run(SIGN)
    const { signatures } = await block()
    const bad = { key_id: 'x', sig: `${'A'.repeat(86)}==` }
    await change('g.json', { signatures: [...signatures, bad] })
    const { code, json } = await setup.run('verify g.json --json')
    expect(code).toBe(1)
    expect(json()).toEqual({ valid: false, reason: 'invalid_signature' })
  })

  it.each([
    ['{"network_name":"a","network_name":"b"}', 'a member name is repeated'],
    ['{}', 'network_name: is missing'],
    ['not json', 'no JSON value'],
  ])('says no to %s', async (text, problem) => {
    await writeFile(setup.path('bad.json'), text)
    const { code, stdout } = await setup.run('verify bad.json')
    expect(code).toBe(1)
    expect(stdout).toContain(problem)
  })

  it('says when there is no file', async () => {
    const { code, errorJson } = await setup.run('verify gone.json --json')
    expect(code).toBe(2)
    expect(errorJson()).toMatchObject({ error: { code: 'file_error' } })
  })
})

describe('genesis succeed', () => {
  const line = (more: string): string =>
    `genesis succeed --root-private-key root.key --genesis g.json --authority-key na-2.pub --former-key-id na-1 --out g2.json --out-history h2.json ${more}`
  beforeEach(async () => {
    await setup.run('keygen authority --out na-2')
    await setup.run(`${CREATE} --valid-days 200`)
    await setup.run(SIGN)
  })

  it('keeps the length of the window, and says until when the old key may sign', async () => {
    const { code, stdout } = await setup.run(line(''))
    expect(code).toBe(0)
    const { network_authority } = await block('g2.json')
    const days = (Date.parse(network_authority.valid_to) - Date.parse(network_authority.valid_from)) / 86_400_000
    expect(days).toBe(200)
    expect(stdout).toContain('na-1 may sign until 2030-02-01T03:00:00Z')
  })

  it('takes another length when one is given', async () => {
    await setup.run(line('--valid-days 30'))
    expect((await block('g2.json')).network_authority.valid_to).toBe('2030-02-01T03:00:00Z')
  })

  it('undoes a succession, and keeps the first date of a key that is current twice', async () => {
    await setup.run(line(''))
    const undo =
      'genesis succeed --root-private-key root.key --genesis g2.json --key-history h2.json --authority-key na.pub --former-key-id na-2 --out g3.json --out-history h3.json'
    const at = (hours: bigint) => ({ now: () => NOW + hours * HOUR })
    const { code, stderr } = await setup.run(undo, at(1n))
    expect([code, stderr]).toEqual([0, ''])
    const formerOf = async (file: string): Promise<readonly string[]> => {
      const history = readJson(await readFile(setup.path(file), 'utf8')) as {
        former_keys: { key_id: string; valid_from: string }[]
      }
      return history.former_keys.map((key) => `${key.key_id} ${key.valid_from}`)
    }
    const [first, second] = [(await block()).network_authority, (await block('g2.json')).network_authority]
    expect(await formerOf('h3.json')).toEqual([`na-1 ${first.valid_from}`, `na-2 ${second.valid_from}`])
    expect((await block('g3.json')).network_authority.public_key).toBe(first.public_key)
    await setup.run('keygen authority --out na-3')
    const third =
      'genesis succeed --root-private-key root.key --genesis g3.json --key-history h3.json --authority-key na-3.pub'
    expect((await setup.run(`${third} --former-key-id na-1 --out g4.json --history-out h4.json`, at(2n))).code).toBe(0)
    expect(await formerOf('h4.json')).toEqual([`na-2 ${second.valid_from}`, `na-1 ${first.valid_from}`])
  })
})

import { readFile, stat, writeFile } from 'node:fs/promises'
import { readPrivateKeyFile, readPublicKeyFile, seedSigner } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeEach(async () => {
  setup = await TestContext.make()
})
afterEach(() => setup.remove())

async function read(name: string): Promise<string> {
  return readFile(setup.path(name), 'utf8')
}

describe('keygen', () => {
  it.each(['root', 'network-authority', 'operator', 'node'])('%s writes a pair that belongs together', async (kind) => {
    const { code, json } = await setup.run(`keygen ${kind} --out keys/${kind} --key-id k-1 --json`)
    expect(code).toBe(0)
    const secret = readPrivateKeyFile(await read(`keys/${kind}.key`))
    const open = readPublicKeyFile(await read(`keys/${kind}.pub`))
    expect((await seedSigner('k-1', secret?.value ?? '')).publicKey).toBe(open?.value)
    expect([secret?.keyId, open?.keyId]).toEqual(['k-1', 'k-1'])
    expect(json()).toMatchObject({ kind, key_id: 'k-1', public_key: open?.value })
  })

  it('lets only the owner read the private half', async () => {
    await setup.run('keygen root --out root')
    expect((await stat(setup.path('root.key'))).mode & 0o777).toBe(0o600)
  })

  it('never prints the private half', async () => {
    const runs = [await setup.run('keygen root --out a'), await setup.run('keygen root --out b --json')]
    const seeds = [
      readPrivateKeyFile(await read('a.key'))?.value ?? '',
      readPrivateKeyFile(await read('b.key'))?.value ?? '',
    ]
    for (const { stdout, stderr } of runs) for (const seed of seeds) expect(stdout + stderr).not.toContain(seed)
  })

  it.each(['.key', '.pub'])('refuses to overwrite a %s file and leaves no half behind', async (extension) => {
    await writeFile(setup.path(`root${extension}`), 'precious')
    const { code, stderr } = await setup.run('keygen root --out root')
    expect(code).toBe(1)
    expect(stderr).toContain('exists already')
    expect(await read(`root${extension}`)).toBe('precious')
    await expect(read(extension === '.key' ? 'root.pub' : 'root.key')).rejects.toThrow('ENOENT')
  })

  it('replaces both with --force, still for the owner only', async () => {
    await writeFile(setup.path('root.key'), 'old', { mode: 0o644 })
    const { code } = await setup.run('keygen root --out root --force')
    expect(code).toBe(0)
    expect(readPrivateKeyFile(await read('root.key'))).toBeDefined()
    expect((await stat(setup.path('root.key'))).mode & 0o777).toBe(0o600)
  })

  it('refuses a key id no authority takes', async () => {
    const { code, stderr } = await setup.run(['keygen', 'root', '--out', 'root', '--key-id', 'a b'])
    expect(code).toBe(2)
    expect(stderr).toContain('A key id is 1 to 128 characters')
  })
})

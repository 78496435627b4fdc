import { spawn } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { COMPILE_CACHE, type TestAuthority, startTestAuthority, testSeed } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')

let [own, partner] = [undefined, undefined] as unknown as [TestAuthority, TestAuthority]
let folder = ''
beforeAll(async () => {
  own = await startTestAuthority({ backend: 'sqlite', network: 'OWN-NET' })
  partner = await startTestAuthority({ backend: 'sqlite', network: 'PARTNER-NET' })
  folder = await mkdtemp(join(tmpdir(), 'chancery-cli-'))
  await writeFile(join(folder, 'op.key'), writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), {
    mode: 0o600,
  })
  for (const { genesis, url } of [own, partner]) {
    const name = genesis.network_name
    await writeFile(join(folder, `${name}.json`), writeJson(genesis))
    const config = `[network]\nna_endpoint = "${url}"\n[paths]\ngenesis = "${name}.json"\noperator_private_key = "op.key"\n`
    await mkdir(join(folder, name))
    for (const file of [`${name}.json`, 'op.key']) await copyFile(join(folder, file), join(folder, name, file))
    await writeFile(join(folder, name, 'chancery.toml'), config)
  }
})
afterAll(async () => {
  await own.stop()
  await partner.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Runs the program from its sources in a separate process, without a terminal. */
async function chancery(line: string): Promise<{ code: number | null; out: string; error: string }> {
  const child = spawn(process.execPath, ['--conditions=development', MAIN, ...line.split(' ')], {
    cwd: folder,
    env: { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, error] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (error += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, out, error }
}

it('recognises a sovereign, accepts its member, imports the revocation and ends the treaty', async () => {
  const unpinned = await chancery(`partner add ${partner.url} --role role:client --yes --home OWN-NET`)
  expect(unpinned.code).toBe(2)
  const made = await chancery(
    `partner add ${partner.url} --genesis PARTNER-NET.json --role role:client --yes --json --home OWN-NET`,
  )
  expect([made.code, made.error]).toEqual([0, ''])
  const { treaty_id: id } = (JSON.parse(made.out) as { treaty: { treaty_id: string } }).treaty

  await chancery('attestation issue zoe --role role:client --out member.json --home PARTNER-NET')
  const verify = `verify member.json --with ${id} --home OWN-NET`
  expect((await chancery(verify)).code).toBe(0)

  const member = JSON.parse(await readFile(join(folder, 'member.json'), 'utf8')) as { attestation_id: string }
  expect((await chancery(`attestation revoke ${member.attestation_id} --yes --home PARTNER-NET`)).code).toBe(0)
  expect((await chancery('partner export-feed --out feed.json --home PARTNER-NET')).code).toBe(0)
  expect((await chancery('partner import-feed feed.json --issuer PARTNER-NET --home OWN-NET')).code).toBe(0)
  const refused = await chancery(verify)
  expect([refused.code, refused.out.includes('attestation_locally_revoked')]).toEqual([1, true])

  const ended = await chancery(`treaty revoke ${id} --yes --home OWN-NET`)
  expect([ended.code, ended.error.includes('OWN-NET ──▶ PARTNER-NET')]).toEqual([0, true])
  expect((await chancery('partner show PARTNER-NET --path-from OWN-NET --home OWN-NET')).code).toBe(1)
})

import { readFile, stat, writeFile } from 'node:fs/promises'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' })
  const { na } = network
  const request = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id = null } = accepted(await na.as('privileged')('POST', '/admin/attestations', request), 201)
  const asked = { attestation_id, requested_capability: 'secret.rotate' }
  for (let made = 0; made < 2; made += 1)
    accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
  await succeed('evidence export --out all.jsonl')
})
afterAll(() => network.close())

async function succeed(line: string): Promise<void> {
  const { code, stderr } = await network.asOperator(line)
  expect([code, stderr]).toEqual([0, expect.anything()])
}

describe('evidence export', () => {
  it.each([
    ['gzip', gunzipSync, 'all.jsonl.gz'],
    ['zstd', zstdDecompressSync, 'all.jsonl.zst'],
  ] as const)('writes a file compressed with %s, which evidence verify reads', async (form, decompress, file) => {
    await succeed(`evidence export --out ${file} --compress ${form}`)
    const path = network.setup.path(file)
    const bytes = await readFile(path)
    expect(decompress(bytes)).toEqual(await readFile(network.setup.path('all.jsonl')))
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const { code, stdout } = await network.run(`verify ${file} --home operator`)
    expect(stdout).toContain(`Verified: ${file} contains 4 entries, 2 decisions, 0 executions; all are valid.`)
    expect(code).toBe(0)
    const changed = Buffer.from(bytes)
    changed.fill(0xff, 40, 60)
    for (const [name, content] of [
      ['cut', bytes.subarray(0, -40)],
      ['changed', changed],
    ] as const) {
      await writeFile(network.setup.path(`${name}-${file}`), content)
      const damaged = await network.run(`verify ${name}-${file} --home operator`)
      expect(damaged.code).not.toBe(0)
      expect(damaged.stderr).toContain('it cannot be decompressed')
    }
  })

  it('continues an export that was interrupted', async () => {
    const [whole, part] = ['all.jsonl', 'part.jsonl'].map((name) => network.setup.path(name)) as [string, string]
    const bytes = await readFile(whole)
    const third = bytes.indexOf(10, bytes.indexOf(10) + 1) + 1
    for (const length of [third + 100, third, 10, 0, bytes.length]) {
      await writeFile(part, bytes.subarray(0, length))
      await succeed('evidence export --out part.jsonl --resume')
      expect(await readFile(part)).toEqual(bytes)
    }
    await writeFile(part, 'something else\n')
    const refused = await network.asOperator('evidence export --out part.jsonl --resume')
    expect(refused.stderr).toContain('./part.jsonl does not end with an entry of an evidence export.')
    expect(await readFile(part, 'utf8')).toBe('something else\n')
    const both = await network.asOperator('evidence export --out part.jsonl --resume --compress gzip')
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--resume cannot be combined')])
  })
})
